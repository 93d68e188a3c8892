/**
 * One TCP or TLS connection as an SMTP channel: sends commands, reads replies, limits every wait, and records the
 * conversation. It matches each reply to a command sent before it arrived: it counts the outstanding replies, and
 * closes the connection if the server sends a reply out of turn. On failure `loss` gives the reason, the socket is
 * destroyed, and every wait resolves with null. Replies that arrived before are still returned. No method throws.
 */
import type { Socket } from 'node:net'
import type { Reply } from '#src/mail/reply.ts'
import { formatReply, ReplyReader } from '#src/mail/reply.ts'
import { Deadline } from './deadline.ts'
import { describeError } from './result.ts'
import type { LossCause, Loss } from './result.ts'
import type { SmtpStep, Timeouts } from './timeouts.ts'

/** Limits the reason: a quoted reply may have 64 KB. */
const MAX_DETAIL_CHARS = 500

export class Wire {
  /** Why the connection ended; null while it is open. */
  loss: Loss | null = null
  /** A 4xx or 5xx reply that no command asked for: many servers send the reason before they disconnect. */
  unsolicitedRefusal: Reply | null = null
  readonly #timeouts: Timeouts
  readonly #deadline: Deadline
  readonly #onReply = (reply: Reply): void => this.#receive(reply)
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
  #outstanding = 0
  #step: SmtpStep = 'greeting'
  #wake: ((reply: Reply | null) => void) | null = null
  #flushed: ((isDone: boolean) => void) | null = null
  #onLoss: () => void = () => {}

  /** The greeting is the first outstanding reply. `lines`: the conversation so far. */
  constructor(socket: Socket, timeouts: Timeouts, lines: string[]) {
    this.#socket = socket
    this.#timeouts = timeouts
    this.#lines = lines
    this.#deadline = new Deadline(() =>
      this.lose('timeout', `no answer within ${this.#timeouts[this.#step]} ms (${this.#step})`),
    )
    this.#outstanding = 1
    this.attach(socket)
  }

  /** Reads from this socket from now on. */
  attach(socket: Socket): void {
    this.#socket = socket
    for (const [event, listener] of this.#listeners) socket.on(event, listener)
  }

  /**
   * Detaches the socket, for STARTTLS. Null if the server sent more than was asked: that text is unprotected, an
   * attacker may have injected it, and it must not become part of the TLS session.
   */
  detach(): Socket | null {
    if (this.loss !== null || this.#outstanding > 0 || this.#reader.isMidReply) return null
    for (const [event, listener] of this.#listeners) if (event !== 'error') this.#socket.off(event, listener)
    return this.#socket
  }

  /** Sends commands in one write; each gets one reply. `shown`: what the record contains in place of secrets. */
  send(commands: readonly string[], shown: readonly string[] = commands): void {
    for (const command of shown) this.#lines.push(`C: ${command}`)
    this.#outstanding += commands.length
    this.#socket.write(`${commands.join('\r\n')}\r\n`)
  }

  /** Writes bytes to the socket and expects this number of replies. */
  write(bytes: Buffer, replies: number): void {
    this.#outstanding += replies
    this.#socket.write(bytes)
  }

  /** Writes bytes and waits until the kernel has all of them. @returns false if the connection was lost. */
  flush(bytes: Buffer, step: SmtpStep): Promise<boolean> {
    if (this.loss !== null) return Promise.resolve(false)
    this.#expect(step)
    return new Promise((resolve) => {
      this.#flushed = resolve
      this.#socket.write(bytes, (error) => this.#endFlush(!error))
    })
  }

  /** Waits for the next reply, in the order of the commands; null once the connection is lost. */
  readReply(step: SmtpStep): Promise<Reply | null> {
    const reply = this.#replies.shift()
    if (reply !== undefined || this.loss !== null) return Promise.resolve(reply ?? null)
    this.#expect(step)
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** The conversation record so far. */
  get lines(): readonly string[] {
    return this.#lines
  }

  /** Adds a line to the conversation record. */
  addLine(line: string): void {
    this.#lines.push(line)
  }

  /** Returns and clears the conversation record. */
  drainLines(): readonly string[] {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** Calls back once, when the connection has ended for any reason. */
  onLoss(callback: () => void): void {
    if (this.loss === null) this.#onLoss = callback
    else queueMicrotask(callback)
  }

  /** Sends QUIT, waits briefly for the reply, and closes. */
  async quit(): Promise<void> {
    if (this.loss === null) {
      this.send(['QUIT'])
      await this.readReply('quit')
    }
    this.lose('aborted', 'the session was ended')
  }

  /** Closes the connection. The first reason is retained. */
  lose(cause: LossCause, why: string, code: string | null = null): void {
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

  #expect(step: SmtpStep): void {
    this.#step = step
    this.#deadline.set(this.#timeouts[step])
  }

  #read(chunk: Buffer): void {
    const fault = this.#reader.push(chunk, this.#onReply)
    if (fault !== null) this.lose('protocol', fault)
  }

  #receive(reply: Reply): void {
    if (this.loss !== null) return
    for (const line of reply.lines) this.#lines.push(`S: ${line}`)
    if (this.#outstanding === 0) return this.#receiveUnsolicited(reply)
    this.#outstanding--
    if (this.#wake === null) this.#replies.push(reply)
    else this.#wakeWith(reply)
  }

  #receiveUnsolicited(reply: Reply): void {
    if (reply.code < 400) return this.lose('protocol', `unexpected reply: ${formatReply(reply)}`)
    this.unsolicitedRefusal = reply
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
