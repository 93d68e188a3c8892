/**
 * One client of the stream. It holds no request and no response, only the connection, which it gets when the head of
 * the response is written (`attach`). What a client does not read stays in memory up to a limit; then it is
 * disconnected, and continues from the last event it read. Live changes wait until what it missed is written. A
 * connection that is lost, or that does not read its last frame in time, closes the client: nothing more is written.
 */
import type { Socket } from 'node:net'
import { encodeFrame, LAST_CHUNK, type EncodedFrame } from './stream-frames.ts'
import type { ChangeTopic } from './topics.ts'

/** Bytes that wait for a client, beyond the buffers of its connection. */
export const MAX_UNREAD = 64 * 1024
/** For a client to read its last frame. */
const END_MS = 10_000

/** The part of a socket that a client uses. */
export type StreamConnection = Pick<
  Socket,
  'write' | 'writableLength' | 'destroySoon' | 'destroy' | 'destroyed' | 'setTimeout' | 'once'
>

export interface ClientOptions {
  /** A workspace, or SERVICE. */
  readonly workspaceId: string
  readonly topics: ReadonlySet<ChangeTopic>
  /** Clients with the same text are checked together. */
  readonly credential: string
  /** When the client must connect again, by performance.now(). */
  readonly endsAt: number
  /** Is called once, when the connection is closed or the client is destroyed. */
  readonly onClose: () => void
}

export class StreamClient {
  readonly workspaceId: string
  readonly topics: ReadonlySet<ChangeTopic>
  /** Clients with the same topics get the same frames. */
  readonly topicKey: string
  readonly credential: string
  readonly endsAt: number
  readonly #onClose: () => void
  #connection: StreamConnection | null = null
  #isChunked = false
  #hasBegun = false
  /** What waits for `begin` and `attach`. Null when both have happened. */
  #held: EncodedFrame[] | null = []
  #isEnded = false
  #isClosed = false

  constructor({ workspaceId, topics, credential, endsAt, onClose }: ClientOptions) {
    this.workspaceId = workspaceId
    this.topics = topics
    this.topicKey = [...topics].join()
    this.credential = credential
    this.endsAt = endsAt
    this.#onClose = onClose
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Writes to the connection from now on. `isChunked`: in chunks (RFC 9112 §7.1), as HTTP/1.1 needs. */
  attach(connection: StreamConnection, isChunked: boolean): void {
    if (this.#isClosed || connection.destroyed) {
      connection.destroy()
      return this.destroy()
    }
    this.#connection = connection
    this.#isChunked = isChunked
    connection.once('close', () => this.#close())
    this.#flush()
  }

  /** Sends a frame, or holds it back until `begin`. */
  send(frame: EncodedFrame): void {
    if (this.#isEnded || this.#isClosed) return
    const waiting = this.#held === null ? (this.#connection?.writableLength ?? 0) : bytesOf(this.#held)
    if (waiting > 0 && waiting + frame.plain.length > MAX_UNREAD) this.destroy()
    else if (this.#held === null) this.#write(frame)
    else this.#held.push(frame)
  }

  /** Sends the first frame, then what was held back. */
  begin(first: string): void {
    if (this.#isEnded || this.#isClosed) return
    this.#held?.unshift(encodeFrame(first))
    this.#hasBegun = true
    this.#flush()
  }

  /** Sends the last frame and ends the response. */
  end(last: string): void {
    if (this.#isEnded || this.#isClosed) return
    this.#isEnded = true
    const frame = encodeFrame(last)
    if (this.#held === null) this.#finish(frame)
    else this.#held = [frame]
    this.#flush()
  }

  destroy(): void {
    this.#connection?.destroy()
    this.#close()
  }

  #flush(): void {
    if (this.#held === null || this.#connection === null || !(this.#hasBegun || this.#isEnded)) return
    const frames = this.#held
    this.#held = null
    for (const [i, frame] of frames.entries())
      if (this.#isEnded && i === frames.length - 1) this.#finish(frame)
      else this.#write(frame)
  }

  #finish(frame: EncodedFrame): void {
    this.#write(frame)
    if (this.#isChunked) this.#connection?.write(LAST_CHUNK)
    this.#connection?.setTimeout(END_MS, () => this.destroy())
    this.#connection?.destroySoon()
  }

  #write({ plain, chunk }: EncodedFrame): void {
    this.#connection?.write(this.#isChunked ? chunk : plain)
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#held = []
    this.#onClose()
  }
}

function bytesOf(frames: readonly EncodedFrame[]): number {
  return frames.reduce((sum, { plain }) => sum + plain.length, 0)
}
