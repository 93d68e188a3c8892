/**
 * Rows turned into the column arrays that `unnest` takes, in PostgreSQL's binary form (array_recv): nothing is escaped here and nothing
 * parsed there, which for texts of a few KB is a good part of what storing them costs. For the hottest statements; `column-arrays.ts` is simpler.
 * The statement must cast each parameter to an array of its type, or PostgreSQL refuses it. No type is checked at run time: a value that is
 * not of its column's type is a bug here.
 */
type Value = string | Buffer | number | boolean | Date | null

/** A column: its type, and where its values are in a row. A text may be its UTF-8 bytes; jsonb is JSON text, uuid its usual 36 characters. */
export type Column<T> = readonly [type: ColumnType, pick: (row: T) => Value]

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

/** How the values of a type travel. */
interface Form {
  readonly oid: number
  sizeOf(value: Value): number
  /** Writes at `at`; answers how many bytes that took. */
  write(buffer: Buffer, value: Value, at: number): number
}

const TEXT: Form = {
  oid: 25,
  sizeOf: (value) => Buffer.byteLength(value as string | Buffer),
  write: (buffer, value, at) => (Buffer.isBuffer(value) ? value.copy(buffer, at) : buffer.write(value as string, at)),
}

const FORMS: Readonly<Record<ColumnType, Form>> = {
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
    sizeOf: (value) => (value as Buffer).length,
    write: (buffer, value, at) => (value as Buffer).copy(buffer, at),
  },
}

/** One parameter for each column. */
export function binaryColumnsOf<T>(rows: readonly T[], columns: readonly Column<T>[]): Buffer[] {
  return columns.map(([type, pick]) => arrayOf(FORMS[type], rows.map(pick)))
}

/** Dimensions, "there may be nulls", element type; then, unless it is empty, length and lower bound. */
const EMPTY_BYTES = 12
const HEAD_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

function arrayOf(form: Form, values: readonly Value[]): Buffer {
  let bytes = HEAD_BYTES
  for (const value of values) bytes += LENGTH_BYTES + (value === null ? 0 : form.sizeOf(value))
  const buffer = Buffer.allocUnsafe(bytes)
  buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(form.oid, 8)
  if (values.length === 0) return buffer.subarray(0, EMPTY_BYTES)
  buffer.writeInt32BE(values.length, 12)
  buffer.writeInt32BE(1, 16)
  let at = HEAD_BYTES
  for (const value of values) {
    const length = value === null ? 0 : form.write(buffer, value, at + LENGTH_BYTES)
    buffer.writeInt32BE(value === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES + length
  }
  return buffer
}

/** Version 1 of the binary form is the text. */
function writeJsonb(buffer: Buffer, value: Value, at: number): number {
  buffer[at] = 1
  return 1 + TEXT.write(buffer, value, at + 1)
}

const PLACES_OF_DASHES = new Set([8, 13, 18, 23])

function writeUuid(buffer: Buffer, uuid: string, at: number): number {
  let to = at
  for (let i = 0; i < uuid.length; i += 2) {
    if (PLACES_OF_DASHES.has(i)) i++
    buffer[to++] = (digitOf(uuid.charCodeAt(i)) << 4) | digitOf(uuid.charCodeAt(i + 1))
  }
  return 16
}

/** Of a hexadecimal digit in either case. */
function digitOf(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57
}

/** PostgreSQL counts microseconds from the year 2000. */
const YEAR_2000_MS = 946_684_800_000n

function writeTime(buffer: Buffer, time: Date, at: number): number {
  return buffer.writeBigInt64BE((BigInt(time.getTime()) - YEAR_2000_MS) * 1000n, at) - at
}
