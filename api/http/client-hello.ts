/**
 * Reads what a TLS client asks for in its first message (ClientHello, RFC 8446 4.1.2): the host name and the protocols.
 * Pure. The bytes come from strangers: nothing outside of them is read, and what does not fit is `other`, which the TLS
 * server then refuses or accepts by itself.
 */
const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER_BYTES = 5
const SERVER_NAME = 0
const HOST_NAME = 0
const ALPN = 16
/** RFC 8446 5.1: the most that a record may hold. */
const MAX_RECORD_BYTES = 16_384

export type ClientHello =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'other' }
  | { readonly kind: 'hello'; readonly serverName: string | null; readonly protocols: readonly string[] }

const OTHER: ClientHello = { kind: 'other' }

/** `bytes`: what the client has sent so far. A message in several records is `other`. */
export function readClientHello(bytes: Buffer): ClientHello {
  if (bytes.length === 0) return { kind: 'incomplete' }
  if (bytes[0] !== HANDSHAKE_RECORD) return OTHER
  if (bytes.length < RECORD_HEADER_BYTES) return { kind: 'incomplete' }
  const length = bytes.readUInt16BE(3)
  if (length > MAX_RECORD_BYTES) return OTHER
  if (bytes.length < RECORD_HEADER_BYTES + length) return { kind: 'incomplete' }
  try {
    return readMessage(new Reader(bytes.subarray(RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + length)))
  } catch (error) {
    if (error instanceof RangeError) return OTHER
    throw error
  }
}

function readMessage(message: Reader): ClientHello {
  if (message.number(1) !== CLIENT_HELLO) return OTHER
  const hello = message.block(3)
  hello.skip(2 + 32) // version, random
  hello.block(1) // session
  hello.block(2) // cipher suites
  hello.block(1) // compression
  let serverName: string | null = null
  let protocols: readonly string[] = []
  for (const extensions = hello.isAtEnd ? hello : hello.block(2); !extensions.isAtEnd;) {
    const type = extensions.number(2)
    const content = extensions.block(2)
    if (type === SERVER_NAME) serverName = readServerName(content)
    if (type === ALPN) protocols = readProtocols(content)
  }
  return { kind: 'hello', serverName, protocols }
}

function readServerName(content: Reader): string | null {
  for (const list = content.block(2); !list.isAtEnd;) {
    const type = list.number(1)
    const name = list.block(2)
    if (type === HOST_NAME) return name.text().toLowerCase()
  }
  return null
}

function readProtocols(content: Reader): readonly string[] {
  const protocols: string[] = []
  for (const list = content.block(2); !list.isAtEnd;) protocols.push(list.block(1).text())
  return protocols
}

/** Reads numbers and blocks that begin with their length. @throws RangeError beyond the end. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  number(size: number): number {
    const value = this.#bytes.readUIntBE(this.#at, size)
    this.#at += size
    return value
  }

  skip(size: number): void {
    if (this.#at + size > this.#bytes.length) throw new RangeError('the message ends too early')
    this.#at += size
  }

  block(lengthSize: number): Reader {
    const length = this.number(lengthSize)
    const start = this.#at
    this.skip(length)
    return new Reader(this.#bytes.subarray(start, this.#at))
  }

  text(): string {
    return this.#bytes.toString('latin1')
  }
}
