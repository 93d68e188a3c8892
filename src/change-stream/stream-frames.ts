/**
 * Server-sent events as text (WHATWG HTML, section 9.2). Data is JSON on one line: it has no line ends, which would end
 * a field. Each frame that moves a client forward ends with the id of its position, which a browser sends back in
 * Last-Event-ID; only the last event of a frame has it, so that a client that loses the rest reads it again.
 *
 * A frame is encoded once for all clients that get it, with and without the framing of a chunk (RFC 9112 section 7.1).
 */
import type { TopicChanges } from './change-reader.ts'
import type { ChangeTopic } from './topics.ts'

/** Besides the topics. */
export type StreamSignal = 'ready' | 'reset' | 'heartbeat' | 'closed'

/** The bytes of a frame: as they are for HTTP/1.0, and as a chunk for HTTP/1.1. Both share their memory. */
export interface EncodedFrame {
  readonly plain: Buffer
  readonly chunk: Buffer
}

/** Ends a response in chunks. */
export const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** `text` is not empty: an empty chunk would end the response. */
export function encodeFrame(text: string): EncodedFrame {
  const size = `${Buffer.byteLength(text).toString(16)}\r\n`
  const chunk = Buffer.from(`${size}${text}\r\n`)
  return { plain: chunk.subarray(size.length, -2), chunk }
}

/** One event. `id` has no line ends (`writePosition`). */
export function frameOf(event: ChangeTopic | StreamSignal, data: object, id: string | null = null): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n${id === null ? '' : `id: ${id}\n`}\n`
}

/** The time after which a client that was disconnected connects again. */
export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`
}

export function changeFrames(changes: readonly TopicChanges[], id: string): string {
  return changes
    .map(({ topic, changes: of, hasMore }, i) =>
      frameOf(topic, { changes: of, has_more: hasMore }, i === changes.length - 1 ? id : null),
    )
    .join('')
}
