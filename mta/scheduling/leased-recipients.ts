/**
 * The recipients that this process holds under its lease, by its own count: those that it asked PostgreSQL for, and those that it sends.
 *
 * The answer to a claim can be lost with its connection after PostgreSQL committed the claim. PostgreSQL then counts recipients as ours
 * that this process does not know, and our living lease would hold them for ever. So a failed claim makes the count uncertain, and for some
 * rounds the process asks PostgreSQL what it holds and releases what it does not know.
 */
import { readLeased } from '#src/messages/open-recipients.ts'
import type { Member } from '#src/queue/member.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { Queryable } from '#src/stores/db.ts'

/** A broken connection can leave a statement running; a later check finds what it claimed. */
const CHECKS_AFTER_DOUBT = 4
const MAX_CHECKED = 10_000

export interface LeasedRecipient extends Member {
  readonly tier: Tier
  readonly lease: number
  /** Absent where it is not known. */
  readonly campaignId?: string | null
}

export class LeasedRecipients {
  /** A recipient can be in Redis twice and be asked for while it is being sent: counted, it stays ours. */
  readonly #counts = new Map<string, number>()
  readonly #beingReleased = new Set<string>()
  #checksLeft = 0

  /** True while PostgreSQL may count recipients as ours that this process does not know. */
  get isUncertain(): boolean {
    return this.#checksLeft > 0
  }

  /** Call it before PostgreSQL is asked. `drop` must follow for each, except for one that this process must not send again. */
  add(recipients: readonly Member[]): void {
    for (const one of recipients) this.#counts.set(nameOf(one), (this.#counts.get(nameOf(one)) ?? 0) + 1)
  }

  drop(recipients: readonly Pick<Member, 'messageId' | 'n'>[]): void {
    for (const one of recipients) {
      const left = (this.#counts.get(nameOf(one)) ?? 1) - 1
      if (left > 0) this.#counts.set(nameOf(one), left)
      else this.#counts.delete(nameOf(one))
    }
  }

  /** True while a check releases it; until then it must not be claimed again. */
  isBeingReleased(recipient: Member): boolean {
    return this.#beingReleased.has(nameOf(recipient))
  }

  /** A claim failed, and PostgreSQL may have committed it. */
  markUncertain(): void {
    this.#checksLeft = CHECKS_AFTER_DOUBT
  }

  /** Releases what PostgreSQL counts as ours and this process does not know. Rejects when PostgreSQL is away; the check is then repeated. */
  async check(
    db: Queryable,
    lease: number,
    release: (unknown: readonly LeasedRecipient[]) => Promise<void>,
  ): Promise<void> {
    const leased = await readLeased(db, [lease], MAX_CHECKED)
    this.#checksLeft--
    const unknown = leased.filter((one) => !this.#counts.has(nameOf(one)) && !this.#beingReleased.has(nameOf(one)))
    for (const one of unknown) this.#beingReleased.add(nameOf(one))
    try {
      if (unknown.length > 0) await release(unknown)
    } finally {
      for (const one of unknown) this.#beingReleased.delete(nameOf(one))
    }
  }
}

function nameOf({ messageId, n }: Pick<Member, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}
