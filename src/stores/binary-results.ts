/**
 * Receives values of the type bytea in binary. pg asks for all results as text, in which each octet is two hexadecimal
 * digits: a message of 36 KB crosses the socket as 72 KB, becomes a string of that size and is then decoded. Other
 * types stay text, since pg has no decoder for most of them.
 *
 * The description of the first result of a prepared statement on its connection says which columns are of that type.
 * From then on each Bind asks for them in binary; results without a name stay text. The format is that of DataRow
 * (PostgreSQL manual, "Message Formats").
 */
import { types, type Client } from 'pg'
import { DataRowMessage, type BackendMessage } from 'pg-protocol/dist/messages.js'
import { Parser } from 'pg-protocol/dist/parser.js'

interface Column {
  readonly dataTypeID: number
  readonly format: string
}

interface RowDescription extends BackendMessage {
  readonly fields: readonly Column[]
}

/** What is used of the connection in a client of pg. */
interface ResultConnection {
  attachListeners(stream: NodeJS.ReadableStream): void
  emit(event: string, message: unknown): void
  on(event: 'rowDescription', listener: (message: RowDescription) => void): void
  on(event: 'readyForQuery', listener: () => void): void
}

/** With a method that the types of pg hide. */
interface PacketParser extends Pick<Parser, 'parse'> {
  handlePacket(offset: number, code: number, length: number, bytes: Buffer): BackendMessage
}

const { BYTEA } = types.builtins
const BYTEA_ID: number = BYTEA
const ROW_DESCRIPTION = 0x54
const DATA_ROW = 0x44
const NULL_LENGTH = -1
const [TEXT, BINARY] = [0, 1]

types.setTypeParser(BYTEA, 'binary', (octets) => octets)

/** The formats of the result columns of prepared statements, by name. */
export interface ResultFormats {
  /** Of a statement about to be bound; undefined: text for all. */
  forStatement(name: string): readonly number[] | undefined
}

/** From now on `client` reads binary columns. Call it before it connects. */
export function receiveBinaryResults(client: Client): ResultFormats {
  const connection = (client as unknown as { readonly connection: ResultConnection }).connection
  connection.attachListeners = (stream) => {
    const parser = new ResultParser()
    stream.on('data', (bytes: Buffer) =>
      parser.parse(bytes, (message) =>
        connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message),
      ),
    )
  }
  const formats = new Map<string, readonly number[] | undefined>()
  let current = ''
  // a statement that failed has no description, and that of the next statement is not its own
  connection.on('readyForQuery', () => {
    current = ''
  })
  connection.on('rowDescription', ({ fields }) => {
    if (current !== '' && !formats.has(current)) formats.set(current, formatsOf(fields))
  })
  return {
    forStatement: (name) => {
      current = name
      return formats.get(name)
    },
  }
}

function formatsOf(columns: readonly Column[]): readonly number[] | undefined {
  const formats = columns.map(({ dataTypeID }) => (BYTEA_ID === dataTypeID ? BINARY : TEXT))
  return formats.includes(BINARY) ? formats : undefined
}

const PgParser = Parser as unknown as new () => PacketParser

/** The parser of pg, which makes a string of every value, but for binary columns. */
class ResultParser extends PgParser {
  /** Whether each column of the rows that follow is binary; null: none is. */
  #isBinary: readonly boolean[] | null = null

  override handlePacket(offset: number, code: number, length: number, bytes: Buffer): BackendMessage {
    if (code === DATA_ROW && this.#isBinary !== null) return readRow(bytes, offset, length, this.#isBinary)
    const message = super.handlePacket(offset, code, length, bytes)
    if (code === ROW_DESCRIPTION) {
      const isBinary = (message as RowDescription).fields.map(({ format }) => format === 'binary')
      this.#isBinary = isBinary.includes(true) ? isBinary : null
    }
    return message
  }
}

/** Binary values are views: pg copies them when it receives the row. */
function readRow(bytes: Buffer, offset: number, length: number, isBinary: readonly boolean[]): BackendMessage {
  const fields: (string | Buffer | null)[] = []
  let at = offset + 2 // their number
  for (const isView of isBinary) {
    const size = bytes.readInt32BE(at)
    at += 4
    if (size === NULL_LENGTH) {
      fields.push(null)
      continue
    }
    fields.push(isView ? bytes.subarray(at, at + size) : bytes.toString('utf8', at, at + size))
    at += size
  }
  return new DataRowMessage(length, fields)
}
