"""Transforms that mean harm: bodies of functions in TypeScript, each with the codes that its failure may have.

Each gets `any` (its input), `world` (the global object, both untyped), `never` (a loop without an end), `long` (what
says that it is a very long list) and `parent`, which gives the prototype of something.
"""

from typing import Final, NamedTuple

_SOURCE: Final = """type Input = { n: number };
type Output = { n: number };
const world: any = globalThis;
const never: any = () => { for (;;) {} };
const long: any = { length: 9007199254740991 };
const parent = (one: any): any => world.Object.getPrototypeOf(one);
export default (input: Input): Output => {
  const any: any = input;
  BODY
};
"""

TIME: Final = frozenset({"TRANSFORM_TIMEOUT", "ACTION_TIMEOUT"})
MEMORY: Final = frozenset({"TRANSFORM_MEMORY"})
THREW: Final = frozenset({"TRANSFORM_THREW"})
NOT_JSON: Final = frozenset({"TRANSFORM_NOT_JSON"})
MISFIT: Final = frozenset({"ACTION_OUTPUT_SCHEMA"})
# Which comes first depends on the machine.
DEEP: Final = TIME | MEMORY | THREW


class Hostile(NamedTuple):
    """A transform that has to fail, and how it may."""

    name: str
    body: str
    codes: frozenset[str]
    time_ms: int
    """Little for those that use it all up; plenty for those that fail at once, which a busy machine may delay."""

    @property
    def source(self) -> str:
        """The whole of its TypeScript."""
        return _SOURCE.replace("BODY", self.body)


_LOOPS: Final = {
    "a loop": "for (;;) {}",
    "a loop that catches": "for (;;) { try { never(); } catch { continue; } finally { continue; } }",
    "a loop at the top": "return { n: 1 }; }; const held: any = never(); const more: any = () => {",
    "fibonacci": "const f = (n: number): number => n < 2 ? n : f(n - 1) + f(n - 2); return { n: f(80) };",
    "an endless generator": "for (const x of (function* (): any { for (;;) yield 1; })()) {} return any;",
    "an iterator": "const next = () => []; any[Symbol.iterator] = () => ({ next }); for (const x of any); return any;",
    "a getter of the output": "return { get n(): number { return never(); } };",
    "a trap of the output": "return new world.Proxy({ n: 1 }, { get: never });",
    "a trap for the keys": "return new world.Proxy({ n: 1 }, { ownKeys: never });",
    "toJSON": "return { n: 1, toJSON: never } as any;",
    "a tag": "return { n: 1, get [world.Symbol.toStringTag](): string { return never(); } } as any;",
    "valueOf": "return { n: any.n * ({ valueOf: never } as any) };",
    "toPrimitive": "return { n: any.n * ({ [world.Symbol.toPrimitive]: never } as any) };",
    "a comparison": "return { n: [3, 2, 1].sort(never)[0] };",
    "a reviver": "return JSON.parse('[1]', never);",
    "a replacer": "return JSON.stringify([1], never) as any;",
    "a thrown getter": "throw { get message(): string { return never(); } };",
    "a thrown text": "throw { get message() { return { toString: never }; } };",
    "a thrown name": "const e: any = new Error('x'); world.Object.defineProperty(e, 'name', { get: never }); throw e;",
    "a thrown proxy": "throw new world.Proxy({}, { get: never });",
    "join of a sparse list": "return new Array(4294967295).join('x') as any;",
    "sort of a sparse list": "const a: any[] = []; a[4294967294] = 1; return a.sort() as any;",
    "reverse of a sparse list": "const a: any[] = []; a[4294967294] = 1; return a.reverse() as any;",
    "unshift of a sparse list": "const a: any[] = []; a[4294967200] = 1; return a.unshift(1) as any;",
    "splice of a sparse list": "const a: any[] = []; a[4294967200] = 1; return a.splice(0, 1) as any;",
    "forEach of a sparse list": "new Array(4294967295).forEach(() => {}); return any;",
    "indexOf of what is long": "return world.Array.prototype.indexOf.call(long, 1) as any;",
    "lastIndexOf of what is long": "return world.Array.prototype.lastIndexOf.call(long, 1) as any;",
    "includes of what is long": "return world.Array.prototype.includes.call(long, 1) as any;",
    "copyWithin of what is long": "return world.Array.prototype.copyWithin.call(long, 0, 9) as any;",
    "a long prototype chain": "let o: any = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); for (;;) o.x;",
    "a regular expression": "return { n: +/^(a+)+$/.test('a'.repeat(50) + '!') };",
    "a regular expression with words": "return { n: +/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60)) };",
    "a regular expression with references": "return { n: +/^(.*)(.*)(.*)(.*)(.*)\\1\\2x$/.test('ab'.repeat(200)) };",
    "a regular expression that replaces": "return { n: 'a'.repeat(60).replace(/(?=(a+)+b)x/g, 'y').length };",
    "a split": "return { n: ('a'.repeat(40) + '!').split(/(a+)+$/).length };",
    "a list that holds itself twice": "let x: any = [1]; for (let i = 0; i < 60; i++) x = [x, x]; return x;",
    "a typed list's comparison": "return { n: new Uint8Array([2, 1]).sort(never)[0] };",
    "a typed list's iterator": "any[Symbol.iterator] = () => ({ next: never }); return new Uint8Array(any) as any;",
    "a trap that Reflect asks": "return { n: Reflect.ownKeys(new Proxy({}, { ownKeys: never })).length };",
    "a species": "any.constructor = { [Symbol.species]: function () { never(); } }; return Array.prototype.map.call("
    "Object.assign([1], any), never) as any;",
    "an instance": "class A { static [Symbol.hasInstance] = never; } return { n: any instanceof A ? 1 : 0 };",
    "an iterator helper": "return Iterator.from((function* (): any { for (;;) yield 1; })()).reduce((a) => a) as any;",
    "a set that is none": "return new Set([1]).union({ size: 1, has: never, keys: never } as any) as any;",
    "replaced methods": "world.Array.prototype[Symbol.iterator] = never; return { n: Math.max(...[1, 2]) };",
}

_BOMBS: Final = {
    "a list": "const a: any[] = []; for (;;) a.push('x'.repeat(1000) + a.length);",
    "an object": "const o: any = {}; for (let i = 0; ; i++) o['key' + i] = { i };",
    "a map": "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i]);",
    "a text": "let s = 'x'; for (;;) { s += s; if (s.charCodeAt(s.length - 1) === 0) break; } return any;",
    "repeat": "return { n: 'x'.repeat(1073741823).length };",
    "repeat and split": "return { n: 'x'.repeat(268435456).split('').length };",
    "padEnd": "return { n: 'x'.padEnd(1073741822, 'ab').length };",
    "replace": "return { n: 'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e4)).length };",
    "a long list": "return { n: Array.from({ length: 4294967295 }, (_: any, i: any) => i).length };",
    "a filled list": "return { n: new Array(1e9).fill({}).length };",
    "a mapped list": "return { n: new Array(4294967295).fill(0).map((x: any) => x).length };",
    "an endless spread": "return { n: [...(function* (): any { for (;;) yield 'x'; })()].length };",
    "a typed list": "return { n: new world.Uint8Array(2147483647).length };",
    "many buffers": "const a: any[] = []; for (;;) a.push(new world.ArrayBuffer(1e6));",
    "a big integer": "return { n: Number((world.BigInt(2) ** world.BigInt(1e9)) % world.BigInt(7)) };",
    "a factorial": "let f = world.BigInt(1); for (let i = 1; ; i++) f *= world.BigInt(i);",
    "typed lists": "const a: any[] = []; for (;;) a.push(new Float64Array(1e5));",
    "a resized buffer": "const b = new (ArrayBuffer as any)(1, { maxByteLength: 2147483647 }); b.resize(2147483647);"
    "return { n: new Uint8Array(b).fill(1).length };",
    "a weak map": "const m = new WeakMap(); for (let last = {}; ; ) m.set((last = { last }), 1);",
    "descriptors": "for (let i = 0; ; i++) Object.defineProperty(any, 'k' + i, { value: [i], enumerable: true });",
    "toArray": "return Iterator.from((function* (): any { for (;;) yield 'x'; })()).toArray() as any;",
    "normalize": "return { n: '\\u00e4'.repeat(1e7).normalize('NFD').length };",
    "closures": "let f: any = () => 0; for (;;) { const g = f; f = () => g; }",
    "many arguments": "return { n: Math.max.apply(null, new Array(1e8) as any) };",
    "flat": "let a: any = [1]; for (let i = 0; i < 40; i++) a = [a, a]; return { n: a.flat(Infinity).length };",
    "symbols": "const a: any[] = []; for (let i = 0; ; i++) a.push(Symbol('s' + i));",
    "a matched text": "return { n: 'x'.repeat(3e7).match(/x/g)!.length };",
}

_DEPTHS: Final = {
    "a function": "const f = (n: number): number => f(n + 1) + 1; return { n: f(0) };",
    "a getter": "const o: any = { get x() { return o.x; } }; return { n: o.x };",
    "toString": "const o: any = { toString: () => '' + o }; return { n: ('' + o).length };",
    "a proxy": "const p: any = new world.Proxy({}, { get: (t: any, k: any): any => p[k] }); return { n: p.x };",
    "a proxy and Reflect": "const p: any = new Proxy({}, { get: (t, k): any => Reflect.get(p, k) }); return p.x;",
    "proxies of proxies": "let p: any = {}; for (let i = 0; i < 2e5; i++) p = new world.Proxy(p, {}); return p.x;",
    "bound functions": "let f: any = () => 1; for (let i = 0; i < 2e5; i++) f = f.bind(null); return { n: f() };",
    "a nested list as text": "let a: any = []; for (let i = 0; i < 2e5; i++) a = [a]; return { n: ('' + a).length };",
    "a nested list": "let a: any = []; for (let i = 0; i < 2e5; i++) a = [a]; return a;",
    "a nested text": "return JSON.parse('['.repeat(2e6));",
    "a nested expression": "return { n: +new world.RegExp('('.repeat(2e5) + ')'.repeat(2e5)).test('') };",
    "a sort in a sort": "const f = (): any => [2, 1].sort(f); return f();",
    "a replace in a replace": "const f = (): any => 'x'.replace(/x/, f); return f();",
    "a class": "class A { x: any = new A(); } return new A() as any;",
    "flat": "let a: any = [1]; for (let i = 0; i < 2e5; i++) a = [a]; return { n: a.flat(Infinity).length };",
    "an iterator in an iterator": "const f = (): any => [...{ [Symbol.iterator]: f } as any]; return f();",
}

_REACHES: Final = {
    "the clock": "return { n: world.Date.now() };",
    "the clock by construction": "return { n: +new world.Date() };",
    "the finer clock": "return { n: world.performance.now() };",
    "chance": "return { n: (Math as any).random() };",
    "eval": "return { n: world.eval('1') };",
    "Function": "return { n: world.Function('return 1')() };",
    "the maker of functions": "return { n: (never as any).constructor('return 1')() };",
    "the maker of makers": "return { n: ({} as any).constructor.constructor('return 1')() };",
    "the maker of generators": "return { n: parent(function* () {}).constructor('yield 1')().next().value };",
    "the maker by construction": "return { n: world.Reflect.construct(parent(never).constructor, ['return 1'])() };",
    "the maker by Reflect": "const made: any = Reflect.construct(Reflect.get(never, 'constructor'), ['return 1']);"
    "return made();",
    "the maker by its descriptor": "const d: any = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(never), "
    "'constructor'); return { n: d.value('return 1')() };",
    "the maker of a class": "return { n: Object.getPrototypeOf(class {}).constructor('return 1')() };",
    "the maker of a bound function": "return { n: Object.getPrototypeOf(never.bind(null)).constructor('return 1')() };",
    "the maker of a getter": "const d: any = Object.getOwnPropertyDescriptor(Map.prototype, 'size');"
    "return { n: d.get.constructor('return 1')() };",
    "the maker of a method": "return { n: Object.getPrototypeOf([].values()).next.constructor('return 1')() };",
    "the maker of a typed list": "return { n: Object.getPrototypeOf(Uint8Array).constructor('return 1')() };",
    "the maker of a trap": "const p: any = Proxy.revocable({}, {}).revoke; return { n: p.constructor('return 1')() };",
    "all names": "const bad = ['Date', 'eval', 'Function', 'Promise', 'performance', 'WeakRef', 'Atomics'];"
    "const found: any = Reflect.ownKeys(globalThis).find((name: any) => bad.includes(name)); return world[found]();",
    "the caller by Reflect": "return { n: Reflect.get(Object.getPrototypeOf(never), 'caller', never)() };",
    "the stack's functions": "const s: any = new Error('x').stack; return { n: s[0].getFunction()() };",
    "the host": "return { n: world.process.exit(1) };",
    "modules": "return { n: world.require('fs').openSync('/etc/passwd') };",
    "std and os": "return { n: (world.std ?? world.os ?? world.bjson).exit(1) };",
    "the network": "return { n: world.fetch('http://127.0.0.1/') };",
    "a timer": "return { n: world.setTimeout(() => 1, 0) };",
    "a microtask": "return { n: world.queueMicrotask(() => 1) };",
    "a promise": "return { n: world.Promise.resolve(1) };",
    "shared memory": "return { n: new world.SharedArrayBuffer(8).byteLength };",
    "a wait": "return { n: world.Atomics.wait(new world.Int32Array(4), 0, 0) };",
    "the garbage": "return { n: new world.WeakRef({}).deref() ? 1 : 0 };",
    "the end of the garbage": "return { n: new world.FinalizationRegistry(() => {}) as any };",
    "the console": "world.console.log('x'); return { n: 1 };",
    "the printer": "world.print('x'); return { n: 1 };",
    "the language": "return { n: new world.Intl.DateTimeFormat() as any };",
    "the caller": "const f: any = function () { return f.caller; }; return { n: f()('1', '2') };",
    "the stack": "world.Error.prepareStackTrace = (_: any, s: any) => s; throw world.Error().stack[1].getFunction()();",
    "the calls by capture": "const o: any = {}; (Error as any).captureStackTrace(o); return { n: o.stack.length };",
    "a stranger's prototype": "world.Object.setPrototypeOf(world.Object.prototype, { n: 1 }); return {} as any;",
    "what is not there": "return { n: any.x.y };",
    "a thrown nothing": "throw undefined;",
    "a thrown symbol": "throw Symbol('x');",
    "a thrown function": "throw never;",
}

_VALUES: Final = {
    "undefined": "return undefined as any;",
    "not a number": "return { n: NaN };",
    "infinity": "return { n: 1 / 0 };",
    "a function": "return { n: never };",
    "a symbol": "return { n: Symbol('x') } as any;",
    "a big integer": "return { n: world.BigInt(1) } as any;",
    "a circle": "const o: any = { n: 1 }; o.o = o; return o;",
    "a circle of lists": "const a: any = []; a.push([a]); return a;",
    "a hole": "return [, 1] as any;",
    "a map": "return new Map([['n', 1]]) as any;",
    "a regular expression": "return /x/ as any;",
    "an error": "return new Error('x') as any;",
    "a boxed number": "return { n: Object(1) };",
    "bytes": "return new world.Uint8Array(3);",
    "a promise": "return { n: (Array as any).fromAsync([1]).then((x: any) => x) };",
    "typed bytes": "return new Uint8Array(3) as any;",
    "a buffer": "return { n: 1, x: new ArrayBuffer(3) } as any;",
    "a view": "return { n: 1, x: new DataView(new ArrayBuffer(3)) } as any;",
    "a weak map": "return new WeakMap() as any;",
    "half a character": "return { n: 1, x: '\\ud800' } as any;",
    "the character 0": "return { n: 1, x: '\\0' } as any;",
    "a long text": "return { n: 1, x: 'x'.repeat(17e6) } as any;",
    "a deep list": "let a: any = []; for (let i = 0; i < 300; i++) a = [a]; return a;",
    "replaced writing": "world.JSON.stringify = () => '{\"n\": 1}'; return { n: NaN };",
    "replaced lists": "world.Array.isArray = () => true; return new Map() as any;",
    "replaced tags": "world.Object.prototype.toString = () => '[object Object]'; return new Map() as any;",
    "replaced calls": "parent(never).call = () => '[object Object]'; return new Map() as any;",
}

_LIES: Final = {
    "a text for a number": "return { n: 'x' } as any;",
    "nothing": "return {} as any;",
    "an inherited number": "world.Object.prototype.n = 1; return {} as any;",
    "toJSON for all": "world.Object.prototype.toJSON = () => 'x'; return { n: 1 };",
    "a map that says that it is an object": "return Object.defineProperty(new Map([['n', 1]]), Symbol.toStringTag, "
    "{ value: 'Object' }) as any;",
    "a hidden number": "return world.Object.defineProperty({}, 'n', { value: 1, enumerable: false }) as any;",
}

HOSTILE: Final = (
    *(Hostile(f"loop: {name}", body, TIME, 200) for name, body in _LOOPS.items()),
    *(Hostile(f"bomb: {name}", body, DEEP, 200) for name, body in _BOMBS.items()),
    *(Hostile(f"depth: {name}", body, DEEP, 200) for name, body in _DEPTHS.items()),
    *(Hostile(f"reach: {name}", body, THREW, 20_000) for name, body in _REACHES.items()),
    *(Hostile(f"value: {name}", body, NOT_JSON, 20_000) for name, body in _VALUES.items()),
    *(Hostile(f"lie: {name}", body, MISFIT, 20_000) for name, body in _LIES.items()),
)
