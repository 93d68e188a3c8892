/**
 * An open SMTP session: any number of messages, one after the other, on one
 * connection, then QUIT. Main path: `deliver`.
 * Promises: every message gets exactly one result; a refused message leaves
 * nothing behind for the next (RSET goes before it); a 421 ends the session.
 * On failure: the session is no longer usable, `onClose` says so once, and later
 * messages get `lost` without a byte sent. Idle or not, a lost connection throws
 * nowhere.
 */
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Capabilities } from './capabilities.ts'
import { composeMail, composeRcpt, refuseLocally } from './envelope.ts'
import type { Mail } from './envelope.ts'
import type { Loss, TransactionResult, TransactionStage } from './result.ts'
import { transact } from './transaction.ts'
import type { Command, Ending } from './transaction.ts'
import type { Wire } from './wire.ts'

/** How the connection is protected. */
export interface TlsFacts {
  /** e.g. `TLSv1.3` */
  readonly protocol: string
  /** The IANA name, e.g. `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string
  /** The certificate verifies for the host's name, by its alternative names (RFC 8461 4.1). */
  readonly authorized: boolean
}

interface Agreed {
  readonly offers: Capabilities
  readonly tls: TlsFacts | null
  readonly connectMs: number
  readonly openMs: number
  readonly localAddress?: string
}

export interface ProbeResult {
  /** What the server had against it; null where it had nothing, or the connection was lost. */
  readonly refused: { readonly stage: TransactionStage; readonly reply: Reply } | null
  readonly loss: Loss | null
  readonly conversation: readonly string[]
}

const RSET: Command = { step: 'rset', line: 'RSET' }
const LEAVING: Loss = { cause: 'aborted', code: null, detail: 'the session is being ended' }
const DATA: Command = { step: 'data', line: 'DATA' }

export class Session {
  readonly offers: Capabilities
  readonly tls: TlsFacts | null
  /** Until TCP was connected. */
  readonly connectMs: number
  /** Until the first message could go. */
  readonly openMs: number
  /** The conversation before the first message: `C: `, `S: ` and `-- ` lines. */
  readonly opening: readonly string[]
  /** Of ours that it was connected from. */
  readonly localAddress: string | undefined
  /** Messages that the server accepted on this session. */
  delivered = 0
  readonly #wire: Wire
  #current: Promise<unknown> | null = null
  #isLeaving = false
  #needsReset = false

  constructor(wire: Wire, agreed: Agreed) {
    this.#wire = wire
    this.offers = agreed.offers
    this.tls = agreed.tls
    this.connectMs = agreed.connectMs
    this.openMs = agreed.openMs
    this.localAddress = agreed.localAddress
    this.opening = wire.takeLines()
  }

  /** Another message may be delivered, once the one under way is done. */
  get isUsable(): boolean {
    return this.#wire.loss === null && !this.#isLeaving
  }

  /** Why the connection ended, null while it is up. */
  get loss(): Loss | null {
    return this.#wire.loss
  }

  /** Calls back once when the connection has ended, whoever ended it. */
  onClose(callback: () => void): void {
    this.#wire.whenLost(callback)
  }

  /** Delivers one message to one recipient. One at a time: a second call before the first has its result is a bug and throws. */
  deliver(mail: Mail): Promise<TransactionResult> {
    if (this.#current !== null) throw new Error('a transaction is under way on this session')
    const current = this.#carryOut(mail)
    this.#current = current
    return current
  }

  /**
   * Asks whether the server would take a message from this sender to this recipient: MAIL, RCPT, RSET. Never DATA: nothing is sent.
   * Between messages only, as `deliver`.
   */
  probe(mail: Mail): Promise<ProbeResult> {
    if (this.#current !== null) throw new Error('a transaction is under way on this session')
    const current = this.#ask(mail)
    this.#current = current
    return current
  }

  /** Says QUIT after the message under way, waits a moment for the answer, and closes. */
  async quit(): Promise<void> {
    if (!this.isUsable) return
    this.#isLeaving = true
    await this.#current
    await this.#wire.leave()
  }

  /** Closes at once; a message under way is `lost`. */
  destroy(): void {
    this.#wire.lose('aborted', 'the session was destroyed')
  }

  async #carryOut(mail: Mail): Promise<TransactionResult> {
    const startedAt = performance.now()
    const ending = await this.#proceed(mail)
    this.#current = null
    const conversation = this.#wire.takeLines()
    const durationMs = performance.now() - startedAt
    if (ending.kind !== 'lost') return { ...ending, conversation, durationMs }
    return { ...ending, ...(this.#wire.loss ?? LEAVING), conversation, durationMs }
  }

  async #ask(mail: Mail): Promise<ProbeResult> {
    const refusal = refuseLocally(mail, this.offers)
    const refused = refusal ?? (await this.#askFor(mail))
    if (refusal === null && this.isUsable) {
      this.#wire.send([RSET.line])
      await this.#wire.answer('rset')
    }
    this.#current = null
    return { refused, loss: this.#wire.loss, conversation: this.#wire.takeLines() }
  }

  async #askFor(mail: Mail): Promise<ProbeResult['refused']> {
    for (const [stage, line] of [
      ['mail', composeMail(mail, this.offers)],
      ['rcpt', composeRcpt(mail)],
    ] as const) {
      if (!this.isUsable) return null
      this.#wire.send([line])
      const reply = await this.#wire.answer(stage)
      if (reply !== null && reply.code >= 300) return { stage, reply }
    }
    return null
  }

  async #proceed(mail: Mail): Promise<Ending> {
    if (!this.isUsable) return { kind: 'lost', stage: 'mail', afterDot: false }
    const refusal = refuseLocally(mail, this.offers)
    if (refusal !== null) {
      this.#wire.note(`-- refused without asking the server: ${formatReply(refusal.reply)}`)
      return { kind: 'rejected', ...refusal, local: true }
    }
    const ending = await transact(this.#wire, this.#compose(mail), mail, this.offers.pipelining)
    this.#needsReset = ending.kind === 'rejected'
    if (ending.kind === 'accepted') this.delivered++
    // RFC 5321 3.8: the server is closing, whatever else it says.
    if (ending.kind === 'rejected' && ending.reply.code === 421)
      this.#wire.lose('closed', 'the server ended the session')
    return ending
  }

  #compose(mail: Mail): Command[] {
    const commands: Command[] = [
      { step: 'mail', line: composeMail(mail, this.offers) },
      { step: 'rcpt', line: composeRcpt(mail) },
      DATA,
    ]
    return this.#needsReset ? [RSET, ...commands] : commands
  }
}
