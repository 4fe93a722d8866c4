// What a transform can name to work with bytes: buffers, views and typed lists.

interface ArrayBuffer {
  readonly [Symbol.toStringTag]: string;
  readonly byteLength: number;
  slice(begin?: number, end?: number): ArrayBuffer;
}
interface ArrayBufferConstructor {
  new (byteLength: number): ArrayBuffer;
  readonly [Symbol.species]: ArrayBufferConstructor;
  readonly prototype: ArrayBuffer;
  isView(value: any): value is ArrayBufferView;
}
declare var ArrayBuffer: ArrayBufferConstructor;
type ArrayBufferLike = ArrayBuffer;
interface ArrayBufferView {
  readonly buffer: ArrayBuffer;
  readonly byteLength: number;
  readonly byteOffset: number;
}

interface DataView extends ArrayBufferView {
  readonly [Symbol.toStringTag]: string;
  getBigInt64(place: number, littleEndian?: boolean): bigint;
  getBigUint64(place: number, littleEndian?: boolean): bigint;
  getFloat32(place: number, littleEndian?: boolean): number;
  getFloat64(place: number, littleEndian?: boolean): number;
  getInt16(place: number, littleEndian?: boolean): number;
  getInt32(place: number, littleEndian?: boolean): number;
  getInt8(place: number): number;
  getUint16(place: number, littleEndian?: boolean): number;
  getUint32(place: number, littleEndian?: boolean): number;
  getUint8(place: number): number;
  setBigInt64(place: number, value: bigint, littleEndian?: boolean): void;
  setBigUint64(place: number, value: bigint, littleEndian?: boolean): void;
  setFloat32(place: number, value: number, littleEndian?: boolean): void;
  setFloat64(place: number, value: number, littleEndian?: boolean): void;
  setInt16(place: number, value: number, littleEndian?: boolean): void;
  setInt32(place: number, value: number, littleEndian?: boolean): void;
  setInt8(place: number, value: number): void;
  setUint16(place: number, value: number, littleEndian?: boolean): void;
  setUint32(place: number, value: number, littleEndian?: boolean): void;
  setUint8(place: number, value: number): void;
}
interface DataViewConstructor {
  new (buffer: ArrayBuffer, byteOffset?: number, byteLength?: number): DataView;
  readonly prototype: DataView;
}
declare var DataView: DataViewConstructor;

// All typed lists have the same methods: T is number or bigint, and `this` the type of the list itself.
interface TypedList<T> extends ArrayBufferView {
  readonly BYTES_PER_ELEMENT: number;
  readonly length: number;
  [index: number]: T;
  [Symbol.iterator](): ArrayIterator<T>;
  at(index: number): T | undefined;
  copyWithin(target: number, start: number, end?: number): this;
  entries(): ArrayIterator<[number, T]>;
  every(test: (value: T, index: number, array: this) => unknown, self?: any): boolean;
  fill(value: T, start?: number, end?: number): this;
  filter(test: (value: T, index: number, array: this) => unknown, self?: any): this;
  find(test: (value: T, index: number, array: this) => unknown, self?: any): T | undefined;
  findIndex(test: (value: T, index: number, array: this) => unknown, self?: any): number;
  findLast(test: (value: T, index: number, array: this) => unknown, self?: any): T | undefined;
  findLastIndex(test: (value: T, index: number, array: this) => unknown, self?: any): number;
  forEach(take: (value: T, index: number, array: this) => void, self?: any): void;
  includes(value: T, from?: number): boolean;
  indexOf(value: T, from?: number): number;
  join(separator?: string): string;
  keys(): ArrayIterator<number>;
  lastIndexOf(value: T, from?: number): number;
  map(give: (value: T, index: number, array: this) => T, self?: any): this;
  reduce(join: (before: T, value: T, index: number, array: this) => T): T;
  reduce(join: (before: T, value: T, index: number, array: this) => T, first: T): T;
  reduce<U>(join: (before: U, value: T, index: number, array: this) => U, first: U): U;
  reduceRight(join: (before: T, value: T, index: number, array: this) => T): T;
  reduceRight(join: (before: T, value: T, index: number, array: this) => T, first: T): T;
  reduceRight<U>(join: (before: U, value: T, index: number, array: this) => U, first: U): U;
  reverse(): this;
  set(items: ArrayLike<T>, from?: number): void;
  slice(start?: number, end?: number): this;
  some(test: (value: T, index: number, array: this) => unknown, self?: any): boolean;
  sort(compare?: (a: T, b: T) => number | bigint): this;
  subarray(start?: number, end?: number): this;
  toReversed(): this;
  toSorted(compare?: (a: T, b: T) => number | bigint): this;
  toString(): string;
  valueOf(): this;
  values(): ArrayIterator<T>;
  with(index: number, value: T): this;
}
interface TypedListConstructor<T, L> {
  new (length?: number): L;
  new (items: Iterable<T> | ArrayLike<T>): L;
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): L;
  readonly BYTES_PER_ELEMENT: number;
  readonly prototype: L;
  from(items: Iterable<T> | ArrayLike<T>): L;
  from<U>(items: Iterable<U> | ArrayLike<U>, give: (value: U, index: number) => T, self?: any): L;
  of(...items: T[]): L;
}
interface Int8Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Int8Array";
}
declare var Int8Array: TypedListConstructor<number, Int8Array>;
interface Uint8Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Uint8Array";
}
declare var Uint8Array: TypedListConstructor<number, Uint8Array>;
interface Uint8ClampedArray extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Uint8ClampedArray";
}
declare var Uint8ClampedArray: TypedListConstructor<number, Uint8ClampedArray>;
interface Int16Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Int16Array";
}
declare var Int16Array: TypedListConstructor<number, Int16Array>;
interface Uint16Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Uint16Array";
}
declare var Uint16Array: TypedListConstructor<number, Uint16Array>;
interface Int32Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Int32Array";
}
declare var Int32Array: TypedListConstructor<number, Int32Array>;
interface Uint32Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Uint32Array";
}
declare var Uint32Array: TypedListConstructor<number, Uint32Array>;
interface Float32Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Float32Array";
}
declare var Float32Array: TypedListConstructor<number, Float32Array>;
interface Float64Array extends TypedList<number> {
  readonly [Symbol.toStringTag]: "Float64Array";
}
declare var Float64Array: TypedListConstructor<number, Float64Array>;
interface BigInt64Array extends TypedList<bigint> {
  readonly [Symbol.toStringTag]: "BigInt64Array";
}
declare var BigInt64Array: TypedListConstructor<bigint, BigInt64Array>;
interface BigUint64Array extends TypedList<bigint> {
  readonly [Symbol.toStringTag]: "BigUint64Array";
}
declare var BigUint64Array: TypedListConstructor<bigint, BigUint64Array>;
