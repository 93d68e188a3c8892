/** The thread of large-bodies.ts: parses a body for its route. Decoded attachments move back without being copied. */
import { parentPort } from 'node:worker_threads'
import type { LargeBodyReply, LargeBodyRequest } from './large-bodies.ts'
import { parseBody } from '#api/http/request-reader.ts'
import { ROUTES } from './table.ts'

parentPort?.on('message', ({ route, kind, bytes }: LargeBodyRequest) => {
  const schema = ROUTES.find(({ name }) => name === route)?.body
  if (schema === undefined) throw new Error(`no route named ${route} has a body schema`)
  const read = parseBody(schema, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), kind)
  parentPort?.postMessage({ parsed: read } satisfies LargeBodyReply, [...listOwnBuffers(read)])
})

/** The ArrayBuffers that can be transferred: those of small buffers cannot, because small buffers share a pool. */
function listOwnBuffers(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (Buffer.isBuffer(value)) {
    if (value.buffer instanceof ArrayBuffer && value.length === value.buffer.byteLength) found.add(value.buffer)
  } else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) listOwnBuffers(item, found)
  return found
}
