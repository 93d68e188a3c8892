/**
 * One client of the stream: a readable stream that is the body of its response. What a client does not read stays in
 * memory up to a limit; then it is disconnected, and continues from the last event it read. A client that joins may
 * hold back live changes until what it missed is written. Disconnected or destroyed: nothing more is written.
 */
import { Readable } from 'node:stream'
import type { ChangeTopic } from './topics.ts'

/** Bytes that wait for a client, beyond the buffers of its connection. */
export const MAX_UNREAD = 64 * 1024

export interface ClientOptions {
  /** A workspace, or SERVICE. */
  readonly workspaceId: string
  readonly topics: ReadonlySet<ChangeTopic>
  /** Clients with the same text are checked together. */
  readonly credential: string
  /** When the client must connect again, by performance.now(). */
  readonly endsAt: number
}

export class StreamClient extends Readable {
  readonly workspaceId: string
  readonly topics: ReadonlySet<ChangeTopic>
  /** Clients with the same topics get the same frames. */
  readonly topicKey: string
  readonly credential: string
  readonly endsAt: number
  #held: Buffer[] | null = []
  #isEnded = false

  constructor({ workspaceId, topics, credential, endsAt }: ClientOptions) {
    super({ highWaterMark: 0, autoDestroy: true })
    this.workspaceId = workspaceId
    this.topics = topics
    this.topicKey = [...topics].join()
    this.credential = credential
    this.endsAt = endsAt
  }

  override _read(): void {
    // frames are pushed when there are any
  }

  /** Sends a frame, or holds it back until `begin`. */
  send(frame: Buffer): void {
    if (this.#held === null) this.#write(frame)
    else if (bytesOf(this.#held) + frame.length > MAX_UNREAD) this.destroy()
    else this.#held.push(frame)
  }

  /** Sends the first frame, then what was held back. */
  begin(first: string): void {
    const held = this.#held ?? []
    this.#held = null
    this.#write(Buffer.from(first))
    for (const frame of held) this.#write(frame)
  }

  /** Sends the last frame and ends the response. */
  end(last: string): void {
    if (this.destroyed || this.#isEnded) return
    this.#held = null
    this.#isEnded = true
    this.push(last)
    this.push(null)
  }

  #write(frame: Buffer): void {
    if (this.destroyed || this.#isEnded) return
    if (this.readableLength > 0 && this.readableLength + frame.length > MAX_UNREAD) this.destroy()
    else this.push(frame)
  }
}

function bytesOf(frames: readonly Buffer[]): number {
  return frames.reduce((sum, { length }) => sum + length, 0)
}
