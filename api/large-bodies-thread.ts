/** The thread of large-bodies.ts: bytes in, what the route's handler is to get out. What it has decoded goes back without being copied. */
import { parentPort } from 'node:worker_threads'
import type { LargeBodyReply, LargeBodyRequest } from './large-bodies.ts'
import { parseBody } from '#api/http/parse-body.ts'
import { ROUTES } from './table.ts'

parentPort?.on('message', ({ id, route, bytes }: LargeBodyRequest) => {
  const schema = ROUTES.find(({ name }) => name === route)?.body
  if (schema === undefined) throw new Error(`there is no route ${route} with a body`)
  const read = parseBody(schema, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  parentPort?.postMessage({ id, parsed: read } satisfies LargeBodyReply, [...listOwnBuffers(read)])
})

/** What is in memory of its own and can be handed over: small buffers share a pool. */
function listOwnBuffers(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (Buffer.isBuffer(value)) {
    if (value.buffer instanceof ArrayBuffer && value.length === value.buffer.byteLength) found.add(value.buffer)
  } else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) listOwnBuffers(item, found)
  return found
}
