/**
 * Collects the octets of a request's body. Each chunk is copied to its place when it arrives: joining the chunks of a
 * file of 25 MB at the end blocked the event loop 10 ms longer (decision 133). A body that arrives in one chunk is not
 * copied.
 *
 * The client disconnects: the result is `ended-early`. It sends more than the limit, without Content-Length: reading
 * stops, and the server closes the connection after the response (api/server.ts). A client that announces a body and
 * sends none of it causes no allocation.
 */
import type { IncomingMessage } from 'node:http'

export type CollectedOctets = Buffer | 'too-large' | 'ended-early'

/** What is allocated first for a body without Content-Length. */
const FIRST_BYTES = 64 * 1024
const NO_OCTETS = Buffer.alloc(0)

/** Never rejects. `limit`: in octets. Node checks that a body has the length that its Content-Length announces. */
export function collectBody(req: IncomingMessage, limit: number): Promise<CollectedOctets> {
  const { promise, resolve } = Promise.withResolvers<CollectedOctets>()
  if (!req.readable) return Promise.resolve('ended-early')
  const octets = new OctetCollector(announcedLength(req), limit)
  const settle = (result: CollectedOctets): void => {
    req.off('data', onData).off('end', onEnd).off('close', onClose)
    resolve(result)
  }
  const onData = (chunk: Buffer): void => {
    if (octets.add(chunk)) return
    req.pause()
    settle('too-large')
  }
  const onEnd = (): void => settle(octets.collected)
  const onClose = (): void => settle('ended-early')
  // after a lost connection, `close` follows; without a listener, the error would end the process
  req.on('error', ignore).on('data', onData).once('end', onEnd).once('close', onClose)
  return promise
}

function ignore(): void {}

/** From Content-Length. Null: it is unknown, because the body is chunked. */
function announcedLength({ headers }: IncomingMessage): number | null {
  const length = headers['content-length']
  return length === undefined || headers['transfer-encoding'] !== undefined ? null : Number(length)
}

class OctetCollector {
  readonly #length: number | null
  readonly #limit: number
  /** The only chunk so far, which is not copied yet. */
  #first: Buffer | null = null
  #octets = NO_OCTETS
  #size = 0

  /** `length`: of the whole body, or null if it is unknown. */
  constructor(length: number | null, limit: number) {
    this.#length = length
    this.#limit = limit
  }

  /** False: this is more than the limit. */
  add(chunk: Buffer): boolean {
    if (this.#size + chunk.length > this.#limit) return false
    if (this.#size === 0) this.#first = chunk
    else {
      if (this.#first !== null) this.#copy(this.#first, 0)
      this.#first = null
      this.#copy(chunk, this.#size)
    }
    this.#size += chunk.length
    return true
  }

  get collected(): Buffer {
    return this.#first ?? this.#octets.subarray(0, this.#size)
  }

  #copy(chunk: Buffer, at: number): void {
    const needed = at + chunk.length
    if (needed > this.#octets.length) {
      const grown = Buffer.allocUnsafeSlow(this.#length ?? Math.min(this.#limit, Math.max(FIRST_BYTES, 2 * needed)))
      this.#octets.copy(grown, 0, 0, at)
      this.#octets = grown
    }
    chunk.copy(this.#octets, at)
  }
}
