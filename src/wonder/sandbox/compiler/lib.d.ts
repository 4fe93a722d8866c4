// All that a transform can name. What is not here (clocks, chance, the network, timers, eval, promises) is a type
// error with its line and column in the author's source. Nothing depends on when, where or how often it is called.
// What looks at objects is in lib_reflection.d.ts, what works with bytes in lib_binary.d.ts.

// What the compiler itself asks for.

interface Object {
  hasOwnProperty(key: PropertyKey): boolean;
  isPrototypeOf(value: object): boolean;
  propertyIsEnumerable(key: PropertyKey): boolean;
  toString(): string;
  valueOf(): Object;
}
interface Function {
  readonly length: number;
  readonly name: string;
  apply(self: any, values?: any): any;
  bind(self: any, ...values: any[]): any;
  call(self: any, ...values: any[]): any;
}
interface CallableFunction extends Function {
  apply<T, R>(this: (this: T) => R, self: T): R;
  apply<T, A extends any[], R>(this: (this: T, ...values: A) => R, self: T, values: A): R;
  bind<T>(this: T, self: ThisParameterType<T>): OmitThisParameter<T>;
  bind<T, A extends any[], B extends any[], R>(
    this: (this: T, ...values: [...A, ...B]) => R,
    self: T,
    ...values: A
  ): (...values: B) => R;
  call<T, A extends any[], R>(this: (this: T, ...values: A) => R, self: T, ...values: A): R;
}
interface NewableFunction extends Function {
  apply<T, A extends any[]>(this: new (...values: A) => T, self: T, values: A): void;
  bind<T>(this: T, self: any): T;
  call<T, A extends any[]>(this: new (...values: A) => T, self: T, ...values: A): void;
}
interface IArguments {
  [index: number]: any;
  length: number;
  [Symbol.iterator](): ArrayIterator<any>;
}
interface TemplateStringsArray extends ReadonlyArray<string> {
  readonly raw: readonly string[];
}
interface ThisType<T> {}

type PropertyKey = string | number | symbol;
type Partial<T> = { [P in keyof T]?: T[P] };
type Required<T> = { [P in keyof T]-?: T[P] };
type Readonly<T> = { readonly [P in keyof T]: T[P] };
type Pick<T, K extends keyof T> = { [P in K]: T[P] };
type Record<K extends keyof any, T> = { [P in K]: T };
type Exclude<T, U> = T extends U ? never : T;
type Extract<T, U> = T extends U ? T : never;
type Omit<T, K extends keyof any> = Pick<T, Exclude<keyof T, K>>;
type NonNullable<T> = T & {};
type Parameters<T extends (...values: any) => any> = T extends (...values: infer P) => any ? P : never;
type ConstructorParameters<T extends abstract new (...values: any) => any> =
  T extends abstract new (...values: infer P) => any ? P : never;
type ReturnType<T extends (...values: any) => any> = T extends (...values: any) => infer R ? R : any;
type InstanceType<T extends abstract new (...values: any) => any> =
  T extends abstract new (...values: any) => infer R ? R : any;
type ThisParameterType<T> = T extends (this: infer U, ...values: never) => any ? U : unknown;
type OmitThisParameter<T> =
  unknown extends ThisParameterType<T> ? T : T extends (...values: infer A) => infer R ? (...values: A) => R : T;
type Uppercase<S extends string> = intrinsic;
type Lowercase<S extends string> = intrinsic;
type Capitalize<S extends string> = intrinsic;
type Uncapitalize<S extends string> = intrinsic;
type NoInfer<T> = intrinsic;

// Symbols and iteration.

interface Symbol {
  readonly description: string | undefined;
  toString(): string;
  valueOf(): symbol;
}
interface SymbolConstructor {
  readonly iterator: unique symbol;
  (description?: string | number): symbol;
}
declare var Symbol: SymbolConstructor;

type BuiltinIteratorReturn = intrinsic;
interface IteratorYieldResult<T> {
  done?: false;
  value: T;
}
interface IteratorReturnResult<R> {
  done: true;
  value: R;
}
type IteratorResult<T, R = any> = IteratorYieldResult<T> | IteratorReturnResult<R>;
interface Iterator<T, R = any, N = any> {
  next(...values: [] | [N]): IteratorResult<T, R>;
  return?(value?: R): IteratorResult<T, R>;
  throw?(error?: any): IteratorResult<T, R>;
}
interface Iterable<T, R = any, N = any> {
  [Symbol.iterator](): Iterator<T, R, N>;
}
interface IterableIterator<T, R = any, N = any> extends Iterator<T, R, N> {
  [Symbol.iterator](): IterableIterator<T, R, N>;
}
interface IteratorObject<T, R = unknown, N = unknown> extends Iterator<T, R, N> {
  [Symbol.iterator](): IteratorObject<T, R, N>;
  drop(count: number): IteratorObject<T, undefined, unknown>;
  every(test: (value: T, index: number) => unknown): boolean;
  filter<S extends T>(test: (value: T, index: number) => value is S): IteratorObject<S, undefined, unknown>;
  filter(test: (value: T, index: number) => unknown): IteratorObject<T, undefined, unknown>;
  find<S extends T>(test: (value: T, index: number) => value is S): S | undefined;
  find(test: (value: T, index: number) => unknown): T | undefined;
  flatMap<U>(give: (value: T, index: number) => Iterator<U> | Iterable<U>): IteratorObject<U, undefined, unknown>;
  forEach(take: (value: T, index: number) => void): void;
  map<U>(give: (value: T, index: number) => U): IteratorObject<U, undefined, unknown>;
  reduce(join: (before: T, value: T, index: number) => T): T;
  reduce<U>(join: (before: U, value: T, index: number) => U, first: U): U;
  some(test: (value: T, index: number) => unknown): boolean;
  take(count: number): IteratorObject<T, undefined, unknown>;
  toArray(): T[];
}
interface IteratorConstructor {
  readonly prototype: IteratorObject<any>;
  from<T>(items: Iterator<T> | Iterable<T>): IteratorObject<T, undefined, unknown>;
}
declare var Iterator: IteratorConstructor;
interface ArrayIterator<T> extends IteratorObject<T, BuiltinIteratorReturn, unknown> {
  [Symbol.iterator](): ArrayIterator<T>;
}
interface MapIterator<T> extends IteratorObject<T, BuiltinIteratorReturn, unknown> {
  [Symbol.iterator](): MapIterator<T>;
}
interface SetIterator<T> extends IteratorObject<T, BuiltinIteratorReturn, unknown> {
  [Symbol.iterator](): SetIterator<T>;
}
interface StringIterator<T> extends IteratorObject<T, BuiltinIteratorReturn, unknown> {
  [Symbol.iterator](): StringIterator<T>;
}
interface RegExpStringIterator<T> extends IteratorObject<T, BuiltinIteratorReturn, unknown> {
  [Symbol.iterator](): RegExpStringIterator<T>;
}
interface Generator<T = unknown, R = any, N = any> extends IteratorObject<T, R, N> {
  next(...values: [] | [N]): IteratorResult<T, R>;
  return(value: R): IteratorResult<T, R>;
  throw(error: any): IteratorResult<T, R>;
  [Symbol.iterator](): Generator<T, R, N>;
}
interface GeneratorFunction extends Function {
  (...values: any[]): Generator;
}

// Lists.

interface ArrayLike<T> {
  readonly length: number;
  readonly [index: number]: T;
}
interface ConcatArray<T> {
  readonly length: number;
  readonly [index: number]: T;
  join(separator?: string): string;
  slice(start?: number, end?: number): T[];
}
type FlatArray<A, D extends number> = {
  done: A;
  recur: A extends ReadonlyArray<infer E> ? FlatArray<E, [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10][D]> : A;
}[D extends -1 ? "done" : "recur"];

interface ReadonlyArray<T> {
  readonly length: number;
  readonly [index: number]: T;
  [Symbol.iterator](): ArrayIterator<T>;
  at(index: number): T | undefined;
  concat(...items: (T | ConcatArray<T>)[]): T[];
  entries(): ArrayIterator<[number, T]>;
  every<S extends T>(test: (value: T, index: number, array: readonly T[]) => value is S, self?: any): this is readonly S[];
  every(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): boolean;
  filter<S extends T>(test: (value: T, index: number, array: readonly T[]) => value is S, self?: any): S[];
  filter(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): T[];
  find<S extends T>(test: (value: T, index: number, array: readonly T[]) => value is S, self?: any): S | undefined;
  find(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): T | undefined;
  findIndex(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): number;
  findLast<S extends T>(test: (value: T, index: number, array: readonly T[]) => value is S, self?: any): S | undefined;
  findLast(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): T | undefined;
  findLastIndex(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): number;
  flat<A, D extends number = 1>(this: A, depth?: D): FlatArray<A, D>[];
  flatMap<U>(give: (value: T, index: number, array: T[]) => U | ReadonlyArray<U>, self?: any): U[];
  forEach(take: (value: T, index: number, array: readonly T[]) => void, self?: any): void;
  includes(value: T, from?: number): boolean;
  indexOf(value: T, from?: number): number;
  join(separator?: string): string;
  keys(): ArrayIterator<number>;
  lastIndexOf(value: T, from?: number): number;
  map<U>(give: (value: T, index: number, array: readonly T[]) => U, self?: any): U[];
  reduce(join: (before: T, value: T, index: number, array: readonly T[]) => T): T;
  reduce(join: (before: T, value: T, index: number, array: readonly T[]) => T, first: T): T;
  reduce<U>(join: (before: U, value: T, index: number, array: readonly T[]) => U, first: U): U;
  reduceRight(join: (before: T, value: T, index: number, array: readonly T[]) => T): T;
  reduceRight(join: (before: T, value: T, index: number, array: readonly T[]) => T, first: T): T;
  reduceRight<U>(join: (before: U, value: T, index: number, array: readonly T[]) => U, first: U): U;
  slice(start?: number, end?: number): T[];
  some(test: (value: T, index: number, array: readonly T[]) => unknown, self?: any): boolean;
  toReversed(): T[];
  toSorted(compare?: (a: T, b: T) => number): T[];
  toSpliced(start: number, count?: number, ...items: T[]): T[];
  toString(): string;
  values(): ArrayIterator<T>;
  with(index: number, value: T): T[];
}
interface Array<T> {
  length: number;
  [index: number]: T;
  [Symbol.iterator](): ArrayIterator<T>;
  at(index: number): T | undefined;
  concat(...items: (T | ConcatArray<T>)[]): T[];
  copyWithin(target: number, start: number, end?: number): this;
  entries(): ArrayIterator<[number, T]>;
  every<S extends T>(test: (value: T, index: number, array: T[]) => value is S, self?: any): this is S[];
  every(test: (value: T, index: number, array: T[]) => unknown, self?: any): boolean;
  fill(value: T, start?: number, end?: number): this;
  filter<S extends T>(test: (value: T, index: number, array: T[]) => value is S, self?: any): S[];
  filter(test: (value: T, index: number, array: T[]) => unknown, self?: any): T[];
  find<S extends T>(test: (value: T, index: number, array: T[]) => value is S, self?: any): S | undefined;
  find(test: (value: T, index: number, array: T[]) => unknown, self?: any): T | undefined;
  findIndex(test: (value: T, index: number, array: T[]) => unknown, self?: any): number;
  findLast<S extends T>(test: (value: T, index: number, array: T[]) => value is S, self?: any): S | undefined;
  findLast(test: (value: T, index: number, array: T[]) => unknown, self?: any): T | undefined;
  findLastIndex(test: (value: T, index: number, array: T[]) => unknown, self?: any): number;
  flat<A, D extends number = 1>(this: A, depth?: D): FlatArray<A, D>[];
  flatMap<U>(give: (value: T, index: number, array: T[]) => U | ReadonlyArray<U>, self?: any): U[];
  forEach(take: (value: T, index: number, array: T[]) => void, self?: any): void;
  includes(value: T, from?: number): boolean;
  indexOf(value: T, from?: number): number;
  join(separator?: string): string;
  keys(): ArrayIterator<number>;
  lastIndexOf(value: T, from?: number): number;
  map<U>(give: (value: T, index: number, array: T[]) => U, self?: any): U[];
  pop(): T | undefined;
  push(...items: T[]): number;
  reduce(join: (before: T, value: T, index: number, array: T[]) => T): T;
  reduce(join: (before: T, value: T, index: number, array: T[]) => T, first: T): T;
  reduce<U>(join: (before: U, value: T, index: number, array: T[]) => U, first: U): U;
  reduceRight(join: (before: T, value: T, index: number, array: T[]) => T): T;
  reduceRight(join: (before: T, value: T, index: number, array: T[]) => T, first: T): T;
  reduceRight<U>(join: (before: U, value: T, index: number, array: T[]) => U, first: U): U;
  reverse(): T[];
  shift(): T | undefined;
  slice(start?: number, end?: number): T[];
  some(test: (value: T, index: number, array: T[]) => unknown, self?: any): boolean;
  sort(compare?: (a: T, b: T) => number): this;
  splice(start: number, count?: number, ...items: T[]): T[];
  toReversed(): T[];
  toSorted(compare?: (a: T, b: T) => number): T[];
  toSpliced(start: number, count?: number, ...items: T[]): T[];
  toString(): string;
  unshift(...items: T[]): number;
  values(): ArrayIterator<T>;
  with(index: number, value: T): T[];
}
interface ArrayConstructor {
  new (length?: number): any[];
  new <T>(length: number): T[];
  new <T>(...items: T[]): T[];
  (length?: number): any[];
  <T>(length: number): T[];
  <T>(...items: T[]): T[];
  isArray(value: any): value is any[];
  of<T>(...items: T[]): T[];
  from<T>(items: Iterable<T> | ArrayLike<T>): T[];
  from<T, U>(items: Iterable<T> | ArrayLike<T>, give: (value: T, index: number) => U, self?: any): U[];
}
declare var Array: ArrayConstructor;

interface Map<K, V> {
  readonly size: number;
  [Symbol.iterator](): MapIterator<[K, V]>;
  clear(): void;
  delete(key: K): boolean;
  entries(): MapIterator<[K, V]>;
  forEach(take: (value: V, key: K, map: Map<K, V>) => void, self?: any): void;
  get(key: K): V | undefined;
  has(key: K): boolean;
  keys(): MapIterator<K>;
  set(key: K, value: V): this;
  values(): MapIterator<V>;
}
interface ReadonlyMap<K, V> {
  readonly size: number;
  [Symbol.iterator](): MapIterator<[K, V]>;
  entries(): MapIterator<[K, V]>;
  forEach(take: (value: V, key: K, map: ReadonlyMap<K, V>) => void, self?: any): void;
  get(key: K): V | undefined;
  has(key: K): boolean;
  keys(): MapIterator<K>;
  values(): MapIterator<V>;
}
interface MapConstructor {
  new (): Map<any, any>;
  new <K, V>(entries?: Iterable<readonly [K, V]> | null): Map<K, V>;
  groupBy<K, T>(items: Iterable<T>, key: (value: T, index: number) => K): Map<K, T[]>;
}
declare var Map: MapConstructor;
interface Set<T> {
  readonly size: number;
  [Symbol.iterator](): SetIterator<T>;
  add(value: T): this;
  clear(): void;
  delete(value: T): boolean;
  entries(): SetIterator<[T, T]>;
  forEach(take: (value: T, same: T, set: Set<T>) => void, self?: any): void;
  has(value: T): boolean;
  difference<U>(other: ReadonlySet<U>): Set<T>;
  intersection<U>(other: ReadonlySet<U>): Set<T & U>;
  isDisjointFrom(other: ReadonlySet<unknown>): boolean;
  isSubsetOf(other: ReadonlySet<unknown>): boolean;
  isSupersetOf(other: ReadonlySet<unknown>): boolean;
  keys(): SetIterator<T>;
  symmetricDifference<U>(other: ReadonlySet<U>): Set<T | U>;
  union<U>(other: ReadonlySet<U>): Set<T | U>;
  values(): SetIterator<T>;
}
interface ReadonlySet<T> {
  readonly size: number;
  [Symbol.iterator](): SetIterator<T>;
  entries(): SetIterator<[T, T]>;
  forEach(take: (value: T, same: T, set: ReadonlySet<T>) => void, self?: any): void;
  has(value: T): boolean;
  keys(): SetIterator<T>;
  values(): SetIterator<T>;
}
interface SetConstructor {
  new <T = any>(values?: Iterable<T> | null): Set<T>;
}
declare var Set: SetConstructor;

// Objects.

interface ObjectConstructor {
  (value?: any): any;
  assign<T extends {}, U>(target: T, source: U): T & U;
  assign<T extends {}, U, V>(target: T, first: U, second: V): T & U & V;
  assign(target: object, ...sources: any[]): any;
  create(prototype: object | null): any;
  entries<T>(value: { [key: string]: T } | ArrayLike<T>): [string, T][];
  entries(value: {}): [string, any][];
  freeze<T>(value: T): Readonly<T>;
  fromEntries<T = any>(entries: Iterable<readonly [PropertyKey, T]>): { [key: string]: T };
  fromEntries(entries: Iterable<readonly any[]>): any;
  getOwnPropertyNames(value: any): string[];
  groupBy<K extends PropertyKey, T>(items: Iterable<T>, key: (value: T, index: number) => K): Partial<Record<K, T[]>>;
  hasOwn(value: object, key: PropertyKey): boolean;
  is(a: any, b: any): boolean;
  isFrozen(value: any): boolean;
  keys(value: {}): string[];
  values<T>(value: { [key: string]: T } | ArrayLike<T>): T[];
  values(value: {}): any[];
}
declare var Object: ObjectConstructor;

interface JSON {
  parse(text: string, revive?: (this: any, key: string, value: any) => any): any;
  stringify(
    value: any,
    replace?: ((this: any, key: string, value: any) => any) | (string | number)[] | null,
    space?: string | number,
  ): string;
}
declare var JSON: JSON;

// Texts.

interface String {
  readonly length: number;
  readonly [index: number]: string;
  [Symbol.iterator](): StringIterator<string>;
  at(index: number): string | undefined;
  charAt(index: number): string;
  charCodeAt(index: number): number;
  codePointAt(index: number): number | undefined;
  concat(...texts: string[]): string;
  endsWith(text: string, end?: number): boolean;
  includes(text: string, from?: number): boolean;
  indexOf(text: string, from?: number): number;
  isWellFormed(): boolean;
  lastIndexOf(text: string, from?: number): number;
  match(pattern: string | RegExp): RegExpMatchArray | null;
  matchAll(pattern: RegExp): RegExpStringIterator<RegExpExecArray>;
  normalize(form?: "NFC" | "NFD" | "NFKC" | "NFKD"): string;
  padEnd(length: number, fill?: string): string;
  padStart(length: number, fill?: string): string;
  repeat(count: number): string;
  replace(pattern: string | RegExp, replacement: string): string;
  replace(pattern: string | RegExp, replace: (found: string, ...values: any[]) => string): string;
  replaceAll(pattern: string | RegExp, replacement: string): string;
  replaceAll(pattern: string | RegExp, replace: (found: string, ...values: any[]) => string): string;
  search(pattern: string | RegExp): number;
  slice(start?: number, end?: number): string;
  split(separator: string | RegExp, limit?: number): string[];
  startsWith(text: string, start?: number): boolean;
  substr(start: number, length?: number): string;
  substring(start: number, end?: number): string;
  toLowerCase(): string;
  toString(): string;
  toUpperCase(): string;
  toWellFormed(): string;
  trim(): string;
  trimEnd(): string;
  trimLeft(): string;
  trimRight(): string;
  trimStart(): string;
  valueOf(): string;
}
interface StringConstructor {
  new (value?: any): String;
  (value?: any): string;
  fromCharCode(...codes: number[]): string;
  fromCodePoint(...codes: number[]): string;
  raw(template: { raw: readonly string[] | ArrayLike<string> }, ...values: any[]): string;
}
declare var String: StringConstructor;

interface RegExpMatchArray extends Array<string> {
  0: string;
  index?: number;
  input?: string;
  groups?: { [name: string]: string };
  indices?: RegExpIndicesArray;
}
interface RegExpIndicesArray extends Array<[number, number]> {
  groups?: { [name: string]: [number, number] };
}
interface RegExpExecArray extends Array<string> {
  0: string;
  index: number;
  input: string;
  groups?: { [name: string]: string };
  indices?: RegExpIndicesArray;
}
interface RegExp {
  readonly dotAll: boolean;
  readonly flags: string;
  readonly global: boolean;
  readonly hasIndices: boolean;
  readonly ignoreCase: boolean;
  lastIndex: number;
  readonly multiline: boolean;
  readonly source: string;
  readonly sticky: boolean;
  readonly unicode: boolean;
  readonly unicodeSets: boolean;
  exec(text: string): RegExpExecArray | null;
  test(text: string): boolean;
  toString(): string;
}
interface RegExpConstructor {
  new (pattern: RegExp | string, flags?: string): RegExp;
  (pattern: RegExp | string, flags?: string): RegExp;
}
declare var RegExp: RegExpConstructor;

declare function decodeURI(text: string): string;
declare function decodeURIComponent(text: string): string;
declare function encodeURI(text: string): string;
declare function encodeURIComponent(text: string | number | boolean): string;
declare function escape(text: string): string;
declare function unescape(text: string): string;
declare function atob(text: string): string;
declare function btoa(text: string): string;

// Numbers and truth.

interface Number {
  toExponential(digits?: number): string;
  toFixed(digits?: number): string;
  toPrecision(digits?: number): string;
  toString(radix?: number): string;
  valueOf(): number;
}
interface NumberConstructor {
  new (value?: any): Number;
  (value?: any): number;
  readonly EPSILON: number;
  readonly MAX_SAFE_INTEGER: number;
  readonly MAX_VALUE: number;
  readonly MIN_SAFE_INTEGER: number;
  readonly MIN_VALUE: number;
  readonly NEGATIVE_INFINITY: number;
  readonly NaN: number;
  readonly POSITIVE_INFINITY: number;
  isFinite(value: unknown): boolean;
  isInteger(value: unknown): boolean;
  isNaN(value: unknown): boolean;
  isSafeInteger(value: unknown): boolean;
  parseFloat(text: string): number;
  parseInt(text: string, radix?: number): number;
}
declare var Number: NumberConstructor;
declare var Infinity: number;
declare var NaN: number;
declare function isFinite(value: number): boolean;
declare function isNaN(value: number): boolean;
declare function parseFloat(text: string): number;
declare function parseInt(text: string, radix?: number): number;

interface BigInt {
  toString(radix?: number): string;
  valueOf(): bigint;
}
interface BigIntConstructor {
  (value: bigint | boolean | number | string): bigint;
  asIntN(bits: number, value: bigint): bigint;
  asUintN(bits: number, value: bigint): bigint;
}
declare var BigInt: BigIntConstructor;

interface Boolean {
  valueOf(): boolean;
}
interface BooleanConstructor {
  new (value?: any): Boolean;
  <T>(value?: T): boolean;
}
declare var Boolean: BooleanConstructor;

interface Math {
  readonly E: number;
  readonly LN10: number;
  readonly LN2: number;
  readonly LOG10E: number;
  readonly LOG2E: number;
  readonly PI: number;
  readonly SQRT1_2: number;
  readonly SQRT2: number;
  abs(x: number): number;
  acos(x: number): number;
  acosh(x: number): number;
  asin(x: number): number;
  asinh(x: number): number;
  atan(x: number): number;
  atan2(y: number, x: number): number;
  atanh(x: number): number;
  cbrt(x: number): number;
  ceil(x: number): number;
  clz32(x: number): number;
  cos(x: number): number;
  cosh(x: number): number;
  exp(x: number): number;
  expm1(x: number): number;
  floor(x: number): number;
  fround(x: number): number;
  hypot(...values: number[]): number;
  imul(x: number, y: number): number;
  log(x: number): number;
  log10(x: number): number;
  log1p(x: number): number;
  log2(x: number): number;
  max(...values: number[]): number;
  min(...values: number[]): number;
  pow(x: number, y: number): number;
  round(x: number): number;
  sign(x: number): number;
  sin(x: number): number;
  sinh(x: number): number;
  sqrt(x: number): number;
  tan(x: number): number;
  tanh(x: number): number;
  trunc(x: number): number;
}
declare var Math: Math;

// Errors: what is thrown fails the step, and its message is told.

interface Error {
  name: string;
  message: string;
  stack?: string;
  cause?: unknown;
}
interface ErrorConstructor {
  new (message?: string, options?: { cause?: unknown }): Error;
  (message?: string, options?: { cause?: unknown }): Error;
}
interface AggregateError extends Error {
  errors: any[];
}
interface AggregateErrorConstructor {
  new (errors: Iterable<any>, message?: string, options?: { cause?: unknown }): AggregateError;
  (errors: Iterable<any>, message?: string, options?: { cause?: unknown }): AggregateError;
}
interface EvalError extends Error {}
interface RangeError extends Error {}
interface ReferenceError extends Error {}
interface SyntaxError extends Error {}
interface TypeError extends Error {}
interface URIError extends Error {}
declare var Error: ErrorConstructor;
declare var AggregateError: AggregateErrorConstructor;
declare var EvalError: ErrorConstructor;
declare var RangeError: ErrorConstructor;
declare var ReferenceError: ErrorConstructor;
declare var SyntaxError: ErrorConstructor;
declare var TypeError: ErrorConstructor;
declare var URIError: ErrorConstructor;
