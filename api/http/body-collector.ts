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
import { OctetBuffer } from '#src/platform/octet-buffer.ts'

export type CollectedOctets = Buffer | 'too-large' | 'ended-early'

/** What is allocated first for a body without Content-Length. */
const FIRST_BYTES = 64 * 1024

/** Never rejects. `limit`: in octets. Node checks that a body has the length that its Content-Length announces. */
export function collectBody(req: IncomingMessage, limit: number): Promise<CollectedOctets> {
  const { promise, resolve } = Promise.withResolvers<CollectedOctets>()
  if (!req.readable) return Promise.resolve('ended-early')
  const buffer = new OctetBuffer({ expected: announcedLength(req), least: FIRST_BYTES, most: limit })
  const settle = (result: CollectedOctets): void => {
    req.off('data', onData).off('end', onEnd).off('close', onClose)
    resolve(result)
  }
  const onData = (chunk: Buffer): void => {
    if (buffer.length + chunk.length <= limit) return buffer.add(chunk)
    req.pause()
    settle('too-large')
  }
  const onEnd = (): void => settle(buffer.octets)
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
