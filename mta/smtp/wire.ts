/**
 * One TCP or TLS connection seen as SMTP: commands out, replies in, a time limit
 * on every wait, and a record of what was said.
 * Promises: a reply is only ever taken for the answer to a command that was sent
 * before it came: the wire counts the replies that are owed, and a server that
 * speaks out of turn loses the connection.
 * On failure: `loss` says why, the socket is destroyed, every wait ends with
 * null at once, replies that came before are still handed out. Nothing throws.
 */
import type { Socket } from 'node:net'
import type { Reply } from '#src/mail/reply.ts'
import { formatReply, ReplyReader } from '#src/mail/reply.ts'
import { Deadline } from './deadline.ts'
import { describeError } from './result.ts'
import type { Cause, Loss } from './result.ts'
import type { Step, Timeouts } from './timeouts.ts'

/** A reply of 64 KB may be quoted in the reason. */
const MAX_DETAIL_CHARS = 500

export class Wire {
  /** Why the connection ended; null while it is up. */
  loss: Loss | null = null
  /** A refusal (4xx or 5xx) that came when no reply was owed: many servers say why before they hang up. */
  farewell: Reply | null = null
  readonly #timeouts: Timeouts
  readonly #deadline: Deadline
  readonly #take = (reply: Reply): void => this.#receive(reply)
  readonly #listeners = [
    ['data', (chunk: Buffer): void => this.#read(chunk)],
    ['error', (error: Error): void => this.#fail(error)],
    ['end', (): void => this.lose('closed', 'the server closed the connection')],
    ['close', (): void => this.lose('closed', 'the connection was closed')],
  ] as const
  #socket: Socket
  readonly #reader = new ReplyReader()
  #lines: string[]
  #replies: Reply[] = []
  #owed = 0
  #step: Step = 'greeting'
  #wake: ((reply: Reply | null) => void) | null = null
  #flushed: ((isDone: boolean) => void) | null = null
  #onLoss: () => void = () => {}

  /** The greeting is owed from the start. `lines`: the record so far. */
  constructor(socket: Socket, timeouts: Timeouts, lines: string[]) {
    this.#socket = socket
    this.#timeouts = timeouts
    this.#lines = lines
    this.#deadline = new Deadline(() =>
      this.lose('timeout', `no answer within ${this.#timeouts[this.#step]} ms (${this.#step})`),
    )
    this.#owed = 1
    this.attach(socket)
  }

  /** Reads from this socket from now on. */
  attach(socket: Socket): void {
    this.#socket = socket
    for (const [event, listener] of this.#listeners) socket.on(event, listener)
  }

  /**
   * Gives up the socket, for STARTTLS. Null if the server has said more than it was asked: in plain text, so that anybody on
   * the way may have said it, and what comes through TLS must not begin with it.
   */
  detach(): Socket | null {
    if (this.loss !== null || this.#owed > 0 || this.#reader.isMidReply) return null
    for (const [event, listener] of this.#listeners) if (event !== 'error') this.#socket.off(event, listener)
    return this.#socket
  }

  /** Sends commands in one write; each will be answered by one reply. `shown`: how the record has them, where they are secret. */
  send(commands: readonly string[], shown: readonly string[] = commands): void {
    for (const command of shown) this.#lines.push(`C: ${command}`)
    this.#owed += commands.length
    this.#socket.write(`${commands.join('\r\n')}\r\n`)
  }

  /** Hands bytes to the socket; `replies` will be owed for them. */
  write(bytes: Buffer, replies: number): void {
    this.#owed += replies
    this.#socket.write(bytes)
  }

  /** Hands bytes to the socket and waits until the kernel has all of them. @returns false if the connection was lost. */
  flush(bytes: Buffer, step: Step): Promise<boolean> {
    if (this.loss !== null) return Promise.resolve(false)
    this.#expect(step)
    return new Promise((resolve) => {
      this.#flushed = resolve
      this.#socket.write(bytes, (error) => this.#endFlush(!error))
    })
  }

  /** The next reply, in the order of the commands; null once the connection is lost. */
  answer(step: Step): Promise<Reply | null> {
    const reply = this.#replies.shift()
    if (reply !== undefined || this.loss !== null) return Promise.resolve(reply ?? null)
    this.#expect(step)
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Adds a line to the record. */
  note(line: string): void {
    this.#lines.push(line)
  }

  /** The record since the last call. */
  takeLines(): readonly string[] {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** Calls back once, when the connection has ended for whatever reason. */
  whenLost(callback: () => void): void {
    if (this.loss === null) this.#onLoss = callback
    else queueMicrotask(callback)
  }

  /** Says QUIT, waits a moment for the answer, and closes. */
  async leave(): Promise<void> {
    if (this.loss === null) {
      this.send(['QUIT'])
      await this.answer('quit')
    }
    this.lose('aborted', 'the session was ended')
  }

  /** Ends the connection. The first reason given stays. */
  lose(cause: Cause, why: string, code: string | null = null): void {
    if (this.loss !== null) return
    const detail = why.slice(0, MAX_DETAIL_CHARS)
    this.loss = { cause, code, detail }
    if (cause !== 'aborted') this.#lines.push(`-- connection lost: ${detail}`)
    this.#deadline.stop()
    this.#socket.destroy()
    this.#endFlush(false)
    this.#wakeWith(null)
    this.#onLoss()
  }

  #fail(error: Error): void {
    const { cause, code, detail } = describeError(error)
    this.lose(cause, detail, code)
  }

  #expect(step: Step): void {
    this.#step = step
    this.#deadline.set(this.#timeouts[step])
  }

  #read(chunk: Buffer): void {
    const fault = this.#reader.push(chunk, this.#take)
    if (fault !== null) this.lose('protocol', fault)
  }

  #receive(reply: Reply): void {
    if (this.loss !== null) return
    for (const line of reply.lines) this.#lines.push(`S: ${line}`)
    if (this.#owed === 0) return this.#hearUnasked(reply)
    this.#owed--
    if (this.#wake === null) this.#replies.push(reply)
    else this.#wakeWith(reply)
  }

  #hearUnasked(reply: Reply): void {
    if (reply.code < 400) return this.lose('protocol', `a reply to nothing: ${formatReply(reply)}`)
    this.farewell = reply
    this.lose('closed', `the server ended the session: ${formatReply(reply)}`)
  }

  #wakeWith(reply: Reply | null): void {
    const wake = this.#wake
    if (wake === null) return
    this.#wake = null
    this.#deadline.clear()
    wake(reply)
  }

  #endFlush(isDone: boolean): void {
    const resolve = this.#flushed
    if (resolve === null) return
    this.#flushed = null
    this.#deadline.clear()
    resolve(isDone)
  }
}
