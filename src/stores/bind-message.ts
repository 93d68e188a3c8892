/**
 * Writes Bind messages, also what pg cannot: a format for each result column, and large parameters without a copy.
 *
 * pg writes a parameter into a buffer that it enlarges again and again, and copies that into another one. Here the size
 * is calculated first. Large parameters are written to the socket by themselves, between the parts of the rest: the
 * caller must not change them before the statement has ended. If the connection is lost between two parts, the server
 * discards the incomplete message.
 *
 * The format is that of Bind (PostgreSQL manual, "Message Formats").
 */
import type { Client } from 'pg'
import type { ResultFormats } from './binary-results.ts'
import { isLarge, SplitParameter } from './split-parameter.ts'

interface BindOptions {
  readonly portal?: string
  readonly statement?: string
  readonly binary?: boolean
  /** Of each result column, instead of `binary`. */
  readonly resultFormats?: readonly number[] | undefined
  readonly values?: readonly unknown[]
  /** Makes text of a value, or leaves it null or a buffer. */
  readonly valueMapper?: (value: unknown) => unknown
}

/** What is used of the connection in a client of pg. */
interface BindConnection {
  bind(options: BindOptions): void
  readonly stream: { readonly writable: boolean; write(bytes: Buffer): boolean; cork(): void; uncork(): void }
}

const BIND = 0x42
const [INT16, INT32] = [2, 4]
const TEXT = 0
const BINARY = 1
const NULL_LENGTH = -1

/** From now on `client` writes its Bind messages here, and asks for results in the given formats. */
export function replaceBind(client: Client, formats: ResultFormats): void {
  const connection = (client as unknown as { readonly connection: BindConnection }).connection
  connection.bind = (options) => {
    const { stream } = connection
    const resultFormats = formats.forStatement(options.statement ?? '')
    const parts = bindMessage({ ...options, resultFormats })
    if (!stream.writable) return
    stream.cork()
    for (const part of parts) stream.write(part)
    stream.uncork()
  }
}

/** The message in parts; a large binary parameter is a part, or what is large in it. */
export function bindMessage(options: BindOptions): Buffer[] {
  const { portal = '', statement = '', binary, values = [], valueMapper } = options
  const { resultFormats = [binary === true ? BINARY : TEXT] } = options
  const parameters = values.map((value) => parameterOf(value, valueMapper))
  const names = `${portal}\0${statement}\0`
  const sizes = parameters.map(sizeOf)
  const numbers = INT32 + INT16 * (3 + parameters.length + resultFormats.length) + INT32 * parameters.length
  const length = numbers + Buffer.byteLength(names) + sum(sizes)
  const writer = new PartWriter(1 + length - sum(parameters.map(sizeOfLarge)))
  writer.int8(BIND)
  writer.int32(length)
  writer.text(names)
  writer.int16(parameters.length)
  for (const value of parameters) writer.int16(isBinary(value) ? BINARY : TEXT)
  writer.int16(parameters.length)
  for (const [i, value] of parameters.entries()) {
    writer.int32(isNull(value) ? NULL_LENGTH : (sizes[i] ?? 0))
    if (isBinary(value)) for (const part of partsOf(value)) writer.octets(part)
    else if (!isNull(value)) writer.text(value)
  }
  writer.int16(resultFormats.length)
  for (const format of resultFormats) writer.int16(format)
  return writer.end()
}

/** As pg maps it. */
type Parameter = string | Buffer | SplitParameter | null | undefined

function parameterOf(value: unknown, valueMapper: BindOptions['valueMapper']): Parameter {
  if (valueMapper === undefined || value instanceof SplitParameter) return value as Parameter
  return valueMapper(value) as Parameter
}

function isNull(value: Parameter): value is null | undefined {
  return value === null || value === undefined
}

function isBinary(value: Parameter): value is Buffer | SplitParameter {
  return Buffer.isBuffer(value) || value instanceof SplitParameter
}

function partsOf(value: Buffer | SplitParameter): readonly Buffer[] {
  return Buffer.isBuffer(value) ? [value] : value.parts
}

function sizeOf(value: Parameter): number {
  if (isNull(value)) return 0
  return isBinary(value) ? value.length : Buffer.byteLength(value)
}

/** The octets that are written by themselves. */
function sizeOfLarge(value: Parameter): number {
  return isBinary(value) ? sum(partsOf(value).map((part) => (isLarge(part) ? part.length : 0))) : 0
}

function sum(numbers: readonly number[]): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}

/** Writes into one buffer, of which it returns the parts between buffers that are not copied. */
class PartWriter {
  readonly #buffer: Buffer
  readonly #parts: Buffer[] = []
  #from = 0
  #at = 0

  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size)
  }

  int8(value: number): void {
    this.#at = this.#buffer.writeUInt8(value, this.#at)
  }

  int16(value: number): void {
    this.#at = this.#buffer.writeUInt16BE(value, this.#at)
  }

  int32(value: number): void {
    this.#at = this.#buffer.writeInt32BE(value, this.#at)
  }

  text(value: string): void {
    this.#at += this.#buffer.write(value, this.#at)
  }

  octets(value: Buffer): void {
    if (isLarge(value)) this.#part(value)
    else this.#at += value.copy(this.#buffer, this.#at)
  }

  #part(value: Buffer): void {
    this.#parts.push(this.#buffer.subarray(this.#from, this.#at), value)
    this.#from = this.#at
  }

  end(): Buffer[] {
    return [...this.#parts, this.#buffer.subarray(this.#from, this.#at)]
  }
}
