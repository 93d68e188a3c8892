/**
 * An open SMTP session: carries any number of messages, one after the other, and ends with QUIT. Main function:
 * `deliver`. Every message gets exactly one result. After a rejected message, RSET precedes the next one. A 421 ends
 * the session. On failure the session is no longer usable, `onClose` calls back once, and later messages get `lost`
 * without a byte sent. A lost connection never throws, idle or not.
 */
import { formatReply, LOCAL_REFUSAL, type Reply } from '#src/mail/reply.ts'
import type { TlsFacts } from './tls.ts'
import type { Capabilities, Loss, TransactionResult, TransactionStage } from './result.ts'
import { composeMail, composeRcpt, refuseLocally, transact } from './transaction.ts'
import type { Mail, SmtpCommand, TransactionEnding } from './transaction.ts'
import type { Wire } from './wire.ts'

interface SessionFacts {
  readonly offers: Capabilities
  readonly tls: TlsFacts | null
  readonly connectMs: number
  readonly openMs: number
  readonly localAddress?: string
}

export interface ProbeResult {
  /** The server's refusal; null if it accepted, or if the connection was lost. */
  readonly refused: { readonly stage: TransactionStage; readonly reply: Reply } | null
  readonly loss: Loss | null
  readonly conversation: readonly string[]
}

/** Follows a transaction: the lines of its conversation, and whether it is under way. */
export interface TransactionRecord {
  readonly lines: string[]
  isInTransaction: boolean
}

const RSET: SmtpCommand = { step: 'rset', line: 'RSET' }
const QUITTING: Loss = { cause: 'aborted', code: null, detail: 'the session is being closed' }
const DATA: SmtpCommand = { step: 'data', line: 'DATA' }

export class Session {
  readonly offers: Capabilities
  readonly tls: TlsFacts | null
  /** Time until TCP was connected. */
  readonly connectMs: number
  /** Time until the session was ready for its first message. */
  readonly openMs: number
  /** The conversation before the first message: `C: `, `S: ` and `-- ` lines. */
  readonly opening: readonly string[]
  /** The local address of the connection. */
  readonly localAddress: string | undefined
  /** Number of messages that the server accepted on this session. */
  delivered = 0
  readonly #wire: Wire
  #current: Promise<unknown> | null = null
  #isQuitting = false
  #needsReset = false

  constructor(wire: Wire, agreed: SessionFacts) {
    this.#wire = wire
    this.offers = agreed.offers
    this.tls = agreed.tls
    this.connectMs = agreed.connectMs
    this.openMs = agreed.openMs
    this.localAddress = agreed.localAddress
    this.opening = wire.drainLines()
  }

  /** Whether another message may be delivered after the current one. */
  get isUsable(): boolean {
    return this.#wire.loss === null && !this.#isQuitting
  }

  /** Why the connection ended; null while it is open. */
  get loss(): Loss | null {
    return this.#wire.loss
  }

  /** Calls back once when the connection has ended, on either side. */
  onClose(callback: () => void): void {
    this.#wire.onLoss(callback)
  }

  /** Delivers one message to one recipient, and records it. Throws if another transaction is in progress. */
  deliver(mail: Mail, record?: TransactionRecord): Promise<TransactionResult> {
    if (this.#current !== null) throw new Error('a transaction is already in progress on this session')
    const current = record === undefined ? this.#runTransaction(mail) : this.#runRecorded(mail, record)
    this.#current = current
    return current
  }

  /**
   * Asks whether the server would accept a message from this sender to this recipient: MAIL, RCPT, RSET, never DATA.
   * Throws if another transaction is in progress.
   */
  probe(mail: Mail): Promise<ProbeResult> {
    if (this.#current !== null) throw new Error('a transaction is already in progress on this session')
    const current = this.#runProbe(mail)
    this.#current = current
    return current
  }

  /** Sends QUIT after the current message, waits briefly for the reply, and closes. */
  async quit(): Promise<void> {
    if (!this.isUsable) return
    this.#isQuitting = true
    await this.#current
    await this.#wire.quit()
  }

  /** Closes at once; the current message becomes `lost`. */
  destroy(): void {
    this.#wire.lose('aborted', 'the session was destroyed')
  }

  async #runRecorded(mail: Mail, record: TransactionRecord): Promise<TransactionResult> {
    record.isInTransaction = true
    const result = await this.#runTransaction(mail)
    record.isInTransaction = false
    for (const line of result.conversation) record.lines.push(line)
    if (result.kind === 'lost') record.lines.push(`-- connection lost at ${result.stage}: ${result.detail}`)
    return result
  }

  async #runTransaction(mail: Mail): Promise<TransactionResult> {
    const startedAt = performance.now()
    const ending = await this.#attempt(mail)
    this.#current = null
    const conversation = this.#wire.drainLines()
    const durationMs = performance.now() - startedAt
    if (ending.kind !== 'lost') return { ...ending, conversation, durationMs }
    return { ...ending, ...(this.#wire.loss ?? QUITTING), conversation, durationMs }
  }

  async #runProbe(mail: Mail): Promise<ProbeResult> {
    const refusal = refuseLocally(mail, this.offers)
    const refused = refusal ?? (await this.#probeCommands(mail))
    if (refusal === null && this.isUsable) {
      this.#wire.send([RSET.line])
      await this.#wire.readReply('rset')
    }
    this.#current = null
    return { refused, loss: this.#wire.loss, conversation: this.#wire.drainLines() }
  }

  async #probeCommands(mail: Mail): Promise<ProbeResult['refused']> {
    for (const [stage, line] of [
      ['mail', composeMail(mail, this.offers)],
      ['rcpt', composeRcpt(mail)],
    ] as const) {
      if (!this.isUsable) return null
      this.#wire.send([line])
      const reply = await this.#wire.readReply(stage)
      if (reply !== null && reply.code >= 300) return { stage, reply }
    }
    return null
  }

  async #attempt(mail: Mail): Promise<TransactionEnding> {
    if (!this.isUsable) return { kind: 'lost', stage: 'mail', afterDot: false }
    const refusal = refuseLocally(mail, this.offers)
    if (refusal !== null) {
      this.#wire.addLine(`${LOCAL_REFUSAL}: ${formatReply(refusal.reply)}`)
      return { kind: 'rejected', ...refusal, local: true }
    }
    const ending = await transact(this.#wire, this.#compose(mail), mail, this.offers.pipelining)
    this.#needsReset = ending.kind === 'rejected'
    if (ending.kind === 'accepted') this.delivered++
    // RFC 5321 3.8: after 421 the server closes the connection
    if (ending.kind === 'rejected' && ending.reply.code === 421)
      this.#wire.lose('closed', 'the server ended the session')
    return ending
  }

  #compose(mail: Mail): SmtpCommand[] {
    const commands: SmtpCommand[] = [
      { step: 'mail', line: composeMail(mail, this.offers) },
      { step: 'rcpt', line: composeRcpt(mail) },
      DATA,
    ]
    return this.#needsReset ? [RSET, ...commands] : commands
  }
}
