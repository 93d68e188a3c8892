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
import { ProtocolReader } from './protocol-reader.ts'

interface Column {
  readonly dataTypeID: number
  format: string
}

interface RowDescription extends BackendMessage {
  readonly fields: readonly Column[]
}

/** What is used of the connection in a client of pg. */
interface ResultConnection {
  attachListeners(stream: NodeJS.ReadableStream): void
  emit(event: string, message: BackendMessage): void
  on(event: 'rowDescription', listener: (message: RowDescription) => void): void
  on(event: 'readyForQuery', listener: () => void): void
}

/** With a method that the types of pg hide. */
interface PacketParser {
  handlePacket(offset: number, code: number, length: number, bytes: Buffer): BackendMessage
}

const { BYTEA } = types.builtins
const BYTEA_ID: number = BYTEA
const ROW_DESCRIPTION = 0x54
const DATA_ROW = 0x44
const NULL_LENGTH = -1
/** The code of a message and its length. */
const HEADER = 5
const [TEXT, BINARY] = [0, 1]

// what was received in binary is a buffer already
const parseText = types.getTypeParser(BYTEA, 'text') as (text: string) => Buffer
types.setTypeParser(BYTEA, 'text', (value: string | Buffer) => (Buffer.isBuffer(value) ? value : parseText(value)))

/** The formats of the result columns of prepared statements, by name. */
export interface ResultFormats {
  /** Of a statement about to be bound; undefined: text for all. */
  forStatement(name: string): readonly number[] | undefined
}

/** Reads what the server sends, and binary columns in it. `client` must not be connected yet. */
export function receiveResults(client: Client, reader: ResultReader): ResultFormats {
  const connection = (client as unknown as { readonly connection: ResultConnection }).connection
  connection.attachListeners = (stream) => {
    reader.onMessage = (message) => connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message)
    stream.on('data', (bytes: Buffer) => reader.push(bytes))
  }
  const formats = new Map<string, readonly number[] | undefined>()
  let current = ''
  // a statement that failed has no description, and that of the next statement is not its own
  connection.on('readyForQuery', () => {
    current = ''
  })
  connection.on('rowDescription', ({ fields }) => {
    if (current !== '' && !formats.has(current)) formats.set(current, formatsOf(fields))
    // pg, which is called next, would copy each value once more
    for (const field of fields) field.format = 'text'
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

/** Reads messages with the parser of pg, which makes a string of every value, but for binary columns. */
export class ResultReader extends ProtocolReader {
  onMessage: (message: BackendMessage) => void = () => undefined
  readonly #parser = new PgParser()
  /** Whether each column of the rows that follow is binary; null: none is. */
  #isBinary: readonly boolean[] | null = null

  constructor() {
    super((bytes, from, isOwn) => this.onMessage(this.#parse(bytes, from, isOwn)))
  }

  #parse(bytes: Buffer, from: number, isOwn: boolean): BackendMessage {
    const code = bytes[from] ?? 0
    const length = bytes.readUInt32BE(from + 1)
    const at = from + HEADER
    if (code === DATA_ROW && this.#isBinary !== null)
      return readRow(bytes, at, length, { isBinary: this.#isBinary, isOwn })
    const message = this.#parser.handlePacket(at, code, length, bytes)
    if (code === ROW_DESCRIPTION) this.#describe(message as RowDescription)
    return message
  }

  #describe({ fields }: RowDescription): void {
    const isBinary = fields.map(({ format }) => format === 'binary')
    this.#isBinary = isBinary.includes(true) ? isBinary : null
  }
}

interface RowReading {
  readonly isBinary: readonly boolean[]
  readonly isOwn: boolean
}

/** A value that fills most of a buffer of its own is a view of it; others are copied. */
function readRow(bytes: Buffer, offset: number, length: number, { isBinary, isOwn }: RowReading): BackendMessage {
  const fields: (string | Buffer | null)[] = []
  let at = offset + 2 // their number
  for (const isOctets of isBinary) {
    const size = bytes.readInt32BE(at)
    at += 4
    if (size === NULL_LENGTH) {
      fields.push(null)
      continue
    }
    const end = at + size
    if (!isOctets) fields.push(bytes.toString('utf8', at, end))
    else fields.push(isOwn && 2 * size > length ? bytes.subarray(at, end) : Buffer.from(bytes.subarray(at, end)))
    at = end
  }
  return new DataRowMessage(length, fields)
}
