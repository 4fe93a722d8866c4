// What a transform can name to look at objects and to change how they behave.

interface PropertyDescriptor {
  configurable?: boolean;
  enumerable?: boolean;
  value?: any;
  writable?: boolean;
  get?(): any;
  set?(value: any): void;
}
interface PropertyDescriptorMap {
  [key: PropertyKey]: PropertyDescriptor;
}
interface TypedPropertyDescriptor<T> {
  configurable?: boolean;
  enumerable?: boolean;
  value?: T;
  writable?: boolean;
  get?: () => T;
  set?: (value: T) => void;
}

interface ObjectConstructor {
  new (value?: any): Object;
  readonly prototype: Object;
  create(prototype: object | null, properties: PropertyDescriptorMap & ThisType<any>): any;
  defineProperties<T>(value: T, properties: PropertyDescriptorMap & ThisType<any>): T;
  defineProperty<T>(value: T, key: PropertyKey, descriptor: PropertyDescriptor & ThisType<any>): T;
  getOwnPropertyDescriptor(value: any, key: PropertyKey): PropertyDescriptor | undefined;
  getOwnPropertyDescriptors<T>(
    value: T,
  ): { [P in keyof T]: TypedPropertyDescriptor<T[P]> } & { [key: string]: PropertyDescriptor };
  getOwnPropertySymbols(value: any): symbol[];
  getPrototypeOf(value: any): any;
  isExtensible(value: any): boolean;
  isSealed(value: any): boolean;
  preventExtensions<T>(value: T): T;
  seal<T>(value: T): T;
  setPrototypeOf(value: any, prototype: object | null): any;
}

declare namespace Reflect {
  function apply<T, A extends readonly any[], R>(target: (this: T, ...values: A) => R, self: T, values: Readonly<A>): R;
  function apply(target: Function, self: any, values: ArrayLike<any>): any;
  function construct<A extends readonly any[], R>(
    target: new (...values: A) => R,
    values: Readonly<A>,
    made?: Function,
  ): R;
  function construct(target: Function, values: ArrayLike<any>, made?: Function): any;
  function defineProperty(target: object, key: PropertyKey, descriptor: PropertyDescriptor & ThisType<any>): boolean;
  function deleteProperty(target: object, key: PropertyKey): boolean;
  function get<T extends object, P extends PropertyKey>(
    target: T,
    key: P,
    self?: unknown,
  ): P extends keyof T ? T[P] : any;
  function getOwnPropertyDescriptor<T extends object, P extends PropertyKey>(
    target: T,
    key: P,
  ): TypedPropertyDescriptor<P extends keyof T ? T[P] : any> | undefined;
  function getPrototypeOf(target: object): object | null;
  function has(target: object, key: PropertyKey): boolean;
  function isExtensible(target: object): boolean;
  function ownKeys(target: object): (string | symbol)[];
  function preventExtensions(target: object): boolean;
  function set<T extends object, P extends PropertyKey>(
    target: T,
    key: P,
    value: P extends keyof T ? T[P] : any,
    self?: any,
  ): boolean;
  function setPrototypeOf(target: object, prototype: object | null): boolean;
}

interface ProxyHandler<T extends object> {
  apply?(target: T, self: any, values: any[]): any;
  construct?(target: T, values: any[], made: Function): object;
  defineProperty?(target: T, key: string | symbol, descriptor: PropertyDescriptor): boolean;
  deleteProperty?(target: T, key: string | symbol): boolean;
  get?(target: T, key: string | symbol, self: any): any;
  getOwnPropertyDescriptor?(target: T, key: string | symbol): PropertyDescriptor | undefined;
  getPrototypeOf?(target: T): object | null;
  has?(target: T, key: string | symbol): boolean;
  isExtensible?(target: T): boolean;
  ownKeys?(target: T): ArrayLike<string | symbol>;
  preventExtensions?(target: T): boolean;
  set?(target: T, key: string | symbol, value: any, self: any): boolean;
  setPrototypeOf?(target: T, prototype: object | null): boolean;
}
interface ProxyConstructor {
  new <T extends object>(target: T, handler: ProxyHandler<T>): T;
  revocable<T extends object>(target: T, handler: ProxyHandler<T>): { proxy: T; revoke: () => void };
}
declare var Proxy: ProxyConstructor;

interface WeakKeyTypes {
  object: object;
  symbol: symbol;
}
type WeakKey = WeakKeyTypes[keyof WeakKeyTypes];
interface WeakMap<K extends WeakKey, V> {
  readonly [Symbol.toStringTag]: string;
  delete(key: K): boolean;
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): this;
}
interface WeakMapConstructor {
  new <K extends WeakKey = WeakKey, V = any>(entries?: Iterable<readonly [K, V]> | null): WeakMap<K, V>;
  readonly prototype: WeakMap<WeakKey, any>;
}
declare var WeakMap: WeakMapConstructor;
interface WeakSet<T extends WeakKey> {
  readonly [Symbol.toStringTag]: string;
  add(value: T): this;
  delete(value: T): boolean;
  has(value: T): boolean;
}
interface WeakSetConstructor {
  new <T extends WeakKey = WeakKey>(values?: Iterable<T> | null): WeakSet<T>;
  readonly prototype: WeakSet<WeakKey>;
}
declare var WeakSet: WeakSetConstructor;

// The symbols by which the language asks an object how to treat it.

interface SymbolConstructor {
  readonly hasInstance: unique symbol;
  readonly isConcatSpreadable: unique symbol;
  readonly match: unique symbol;
  readonly matchAll: unique symbol;
  readonly prototype: Symbol;
  readonly replace: unique symbol;
  readonly search: unique symbol;
  readonly species: unique symbol;
  readonly split: unique symbol;
  readonly toPrimitive: unique symbol;
  readonly toStringTag: unique symbol;
  readonly unscopables: unique symbol;
  for(key: string): symbol;
  keyFor(symbol: symbol): string | undefined;
}
interface Symbol {
  readonly [Symbol.toStringTag]: string;
  [Symbol.toPrimitive](hint: string): symbol;
}
interface Function {
  prototype: any;
  [Symbol.hasInstance](value: any): boolean;
  toString(): string;
}
interface Array<T> {
  readonly [Symbol.unscopables]: { [K in keyof any[]]?: boolean };
}
interface ArrayConstructor {
  readonly [Symbol.species]: ArrayConstructor;
  readonly prototype: any[];
}
interface Map<K, V> {
  readonly [Symbol.toStringTag]: string;
}
interface MapConstructor {
  readonly [Symbol.species]: MapConstructor;
  readonly prototype: Map<any, any>;
}
interface Set<T> {
  readonly [Symbol.toStringTag]: string;
}
interface SetConstructor {
  readonly [Symbol.species]: SetConstructor;
  readonly prototype: Set<any>;
}
interface Generator<T = unknown, R = any, N = any> {
  readonly [Symbol.toStringTag]: string;
}
interface GeneratorFunction {
  readonly [Symbol.toStringTag]: string;
  readonly prototype: Generator;
}
interface String {
  match(matcher: { [Symbol.match](text: string): RegExpMatchArray | null }): RegExpMatchArray | null;
  replace(searcher: { [Symbol.replace](text: string, by: string): string }, by: string): string;
  replace(
    searcher: { [Symbol.replace](text: string, by: (found: string, ...values: any[]) => string): string },
    by: (found: string, ...values: any[]) => string,
  ): string;
  search(searcher: { [Symbol.search](text: string): number }): number;
  split(splitter: { [Symbol.split](text: string, limit?: number): string[] }, limit?: number): string[];
}
interface StringConstructor {
  readonly prototype: String;
}
interface RegExp {
  [Symbol.match](text: string): RegExpMatchArray | null;
  [Symbol.matchAll](text: string): RegExpStringIterator<RegExpMatchArray>;
  [Symbol.replace](text: string, by: string): string;
  [Symbol.replace](text: string, by: (found: string, ...values: any[]) => string): string;
  [Symbol.search](text: string): number;
  [Symbol.split](text: string, limit?: number): string[];
}
interface RegExpConstructor {
  readonly [Symbol.species]: RegExpConstructor;
  readonly prototype: RegExp;
}
interface NumberConstructor {
  readonly prototype: Number;
}
interface BooleanConstructor {
  readonly prototype: Boolean;
}
interface BigInt {
  readonly [Symbol.toStringTag]: "BigInt";
}
interface BigIntConstructor {
  readonly prototype: BigInt;
}
interface Math {
  readonly [Symbol.toStringTag]: string;
}
interface JSON {
  readonly [Symbol.toStringTag]: string;
}
interface ErrorConstructor {
  readonly prototype: Error;
}
interface AggregateErrorConstructor {
  readonly prototype: AggregateError;
}
