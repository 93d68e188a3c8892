/**
 * Writes the Bind messages that pg cannot: with large parameters, and with a format for each result column.
 *
 * pg builds the whole message in one buffer, which copies a parameter twice and allocates half of its size in addition:
 * for a message of 35 MB that blocked the event loop for 50 ms. Here the parts of the message are written one after the
 * other. The caller must not change a parameter before its statement has ended. If the connection is lost between two
 * parts, the server discards the incomplete message.
 *
 * The format is that of Bind (PostgreSQL manual, "Message Formats").
 */
import type { Client } from 'pg'
import type { ResultFormats } from './binary-results.ts'

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

/** Smaller parameters cost less in one piece. */
const LARGE_BYTES = 1024 * 1024
const BIND = 'B'
const TEXT = 0
const BINARY = 1
const NULL_LENGTH = -1

/** From now on `client` does not copy large binary parameters, and asks for results in the given formats. */
export function replaceBind(client: Client, formats: ResultFormats): void {
  const connection = (client as unknown as { readonly connection: BindConnection }).connection
  const bindWhole = connection.bind.bind(connection)
  connection.bind = (options) => {
    const resultFormats = formats.forStatement(options.statement ?? '')
    const hasLarge = options.values?.some(isLarge) === true
    if (!hasLarge && resultFormats === undefined) return bindWhole(options)
    const parts = bindMessage({ ...options, resultFormats })
    const { stream } = connection
    if (!stream.writable) return
    stream.cork()
    for (const part of hasLarge ? parts : [Buffer.concat(parts)]) stream.write(part)
    stream.uncork()
  }
}

function isLarge(value: unknown): boolean {
  return Buffer.isBuffer(value) && value.length >= LARGE_BYTES
}

/** The message in parts; a binary parameter is a part. */
export function bindMessage(options: BindOptions): Buffer[] {
  const { portal = '', statement = '', binary, values = [], valueMapper } = options
  const { resultFormats = [binary === true ? BINARY : TEXT] } = options
  const parameters = values.map((value) => encode(valueMapper === undefined ? value : valueMapper(value)))
  const formats = parameters.map((value) => int16(value?.format ?? TEXT))
  const body = [
    Buffer.from(`${portal}\0${statement}\0`),
    int16(parameters.length),
    ...formats,
    int16(parameters.length),
    ...parameters.flatMap((value) =>
      value === null ? [int32(NULL_LENGTH)] : [int32(value.bytes.length), value.bytes],
    ),
    int16(resultFormats.length),
    ...resultFormats.map(int16),
  ]
  const length = body.reduce((sum, part) => sum + part.length, 4)
  return [Buffer.from(BIND), int32(length), ...body]
}

function encode(value: unknown): { readonly format: number; readonly bytes: Buffer } | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return { format: BINARY, bytes: value }
  return { format: TEXT, bytes: Buffer.from(value as string) }
}

function int16(value: number): Buffer {
  const buffer = Buffer.allocUnsafe(2)
  buffer.writeUInt16BE(value)
  return buffer
}

function int32(value: number): Buffer {
  const buffer = Buffer.allocUnsafe(4)
  buffer.writeInt32BE(value)
  return buffer
}
