/**
 * Encodes rows as column arrays for `unnest` in PostgreSQL's binary format (array_recv). The client escapes nothing and
 * the server parses nothing, which saves a large part of the cost of storing texts of a few KB. Use it for the hottest
 * statements; `column-arrays.ts` is simpler. The statement must cast each parameter to an array of its type, or
 * PostgreSQL rejects it. Types are not checked at run time: a value of the wrong type is a bug of the caller.
 * `defineInput` also writes the parameters of the statement.
 */
import { isLarge, SplitParameter } from './split-parameter.ts'

type ColumnValue = string | Buffer | number | boolean | Date | null

/**
 * A column: its type, and the function that gets its value from a row. A text may be given as UTF-8 bytes, jsonb as
 * JSON text, a uuid as its 36 characters.
 */
export type BinaryColumn<T> = readonly [type: ColumnType, pick: (row: T) => ColumnValue]

export type ColumnType =
  | 'text'
  | 'jsonb'
  | 'uuid'
  | 'boolean'
  | 'smallint'
  | 'integer'
  | 'bigint'
  | 'timestamptz'
  | 'bytea'

/** The binary encoding of a type. */
interface Codec {
  readonly oid: number
  /** A value given as bytes is written as it is. */
  readonly isVerbatim?: boolean
  sizeOf(value: ColumnValue): number
  /** Writes at offset `at` and returns the number of bytes. */
  write(buffer: Buffer, value: ColumnValue, at: number): number
}

const TEXT: Codec = {
  oid: 25,
  isVerbatim: true,
  sizeOf: (value) => Buffer.byteLength(value as string | Buffer),
  write: (buffer, value, at) => (Buffer.isBuffer(value) ? value.copy(buffer, at) : buffer.write(value as string, at)),
}

const CODECS: Readonly<Record<ColumnType, Codec>> = {
  text: TEXT,
  jsonb: { oid: 3802, sizeOf: (value) => 1 + TEXT.sizeOf(value), write: writeJsonb },
  uuid: { oid: 2950, sizeOf: () => 16, write: (buffer, value, at) => writeUuid(buffer, value as string, at) },
  boolean: { oid: 16, sizeOf: () => 1, write: (buffer, value, at) => buffer.writeUInt8(Number(value), at) - at },
  smallint: { oid: 21, sizeOf: () => 2, write: (buffer, value, at) => buffer.writeInt16BE(value as number, at) - at },
  integer: { oid: 23, sizeOf: () => 4, write: (buffer, value, at) => buffer.writeInt32BE(value as number, at) - at },
  bigint: {
    oid: 20,
    sizeOf: () => 8,
    write: (buffer, value, at) => buffer.writeBigInt64BE(BigInt(value as number), at) - at,
  },
  timestamptz: { oid: 1184, sizeOf: () => 8, write: (buffer, value, at) => writeTime(buffer, value as Date, at) },
  bytea: {
    oid: 17,
    isVerbatim: true,
    sizeOf: (value) => (value as Buffer).length,
    write: (buffer, value, at) => (value as Buffer).copy(buffer, at),
  },
}

/** Split if it contains large values, which are not copied. */
export type ColumnParameter = Buffer | SplitParameter

/** Returns one parameter for each column. */
export function binaryColumnsOf<T>(rows: readonly T[], columns: readonly BinaryColumn<T>[]): ColumnParameter[] {
  return columns.map(([type, pick]) => encodeArray(CODECS[type], rows.map(pick)))
}

/** Header of an array: dimensions, a flag for nulls, element type; unless it is empty also length and lower bound. */
const EMPTY_BYTES = 12
const HEAD_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

function encodeArray(codec: Codec, values: readonly ColumnValue[]): ColumnParameter {
  const isApart = (value: ColumnValue): value is Buffer =>
    codec.isVerbatim === true && Buffer.isBuffer(value) && isLarge(value)
  let bytes = HEAD_BYTES
  for (const value of values) bytes += LENGTH_BYTES + (value === null || isApart(value) ? 0 : codec.sizeOf(value))
  const buffer = Buffer.allocUnsafe(bytes)
  buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(codec.oid, 8)
  if (values.length === 0) return buffer.subarray(0, EMPTY_BYTES)
  buffer.writeInt32BE(values.length, 12)
  buffer.writeInt32BE(1, 16)
  const parts: Buffer[] = []
  let from = 0
  let at = HEAD_BYTES
  for (const value of values) {
    if (isApart(value)) {
      at = buffer.writeInt32BE(value.length, at)
      parts.push(buffer.subarray(from, at), value)
      from = at
      continue
    }
    const length = value === null ? 0 : codec.write(buffer, value, at + LENGTH_BYTES)
    buffer.writeInt32BE(value === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES + length
  }
  return parts.length === 0 ? buffer : new SplitParameter([...parts, buffer.subarray(from)])
}

/** The binary format of jsonb is a version byte, 1, and the text. */
function writeJsonb(buffer: Buffer, value: ColumnValue, at: number): number {
  buffer[at] = 1
  return 1 + TEXT.write(buffer, value, at + 1)
}

const DASH_POSITIONS = new Set([8, 13, 18, 23])

function writeUuid(buffer: Buffer, uuid: string, at: number): number {
  let to = at
  for (let i = 0; i < uuid.length; i += 2) {
    if (DASH_POSITIONS.has(i)) i++
    buffer[to++] = (digitOf(uuid.charCodeAt(i)) << 4) | digitOf(uuid.charCodeAt(i + 1))
  }
  return 16
}

/** The value of a hexadecimal digit in either case. */
function digitOf(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57
}

/** PostgreSQL counts microseconds from the year 2000. */
const YEAR_2000_MS = 946_684_800_000n

function writeTime(buffer: Buffer, time: Date, at: number): number {
  return buffer.writeBigInt64BE((BigInt(time.getTime()) - YEAR_2000_MS) * 1000n, at) - at
}

/** A part of a FROM clause. */
interface InputRows {
  /** The parameters with their types: `$1::uuid[], $2::text[]`. */
  readonly arrays: string
  /** The names of the columns in the same order: `id, address`. */
  readonly names: string
  /** Both as an item of a FROM clause. */
  from(alias: string): string
}

export interface StatementInput<T, Name extends string> extends InputRows {
  /** A subset of the columns. */
  only(...names: readonly Name[]): InputRows
  /** The number of the first parameter after these. */
  readonly nextParameter: number
  /** The parameters in the order of the statement. */
  parametersOf(rows: readonly T[]): ColumnParameter[]
}

/**
 * Rows as parameters of a statement. Columns are named, and the positions of their parameters ($1, $2, ...) are
 * computed, so a new column is one line. Any number of rows uses the same statement with the same number of
 * parameters, so it is prepared once. `first`: the number of the first parameter.
 */
export function defineInput<T, Name extends string>(
  first: number,
  columns: Readonly<Record<Name, BinaryColumn<T>>>,
): StatementInput<T, Name> {
  const names = Object.keys(columns) as Name[]
  const list = Object.values<BinaryColumn<T>>(columns)
  const arrays = new Map(names.map((name, i) => [name, `$${first + i}::${columns[name][0]}[]`]))
  const rowsOf = (chosen: readonly Name[]): InputRows => {
    const parts = { arrays: chosen.map((name) => arrays.get(name)).join(', '), names: chosen.join(', ') }
    return { ...parts, from: (alias) => `unnest(${parts.arrays}) AS ${alias} (${parts.names})` }
  }
  return {
    ...rowsOf(names),
    only: (...chosen) => rowsOf(chosen),
    nextParameter: first + names.length,
    parametersOf: (rows) => binaryColumnsOf(rows, list),
  }
}
