/**
 * The recipients that this process holds under its lease, by its own count: those that it is claiming from
 * PostgreSQL, and those that it sends.
 *
 * The reply to a claim can be lost with its connection after PostgreSQL committed the claim. PostgreSQL then counts
 * recipients as leased to this process that it does not know, and they would stay leased for as long as the process
 * lives. So a failed claim makes the count uncertain, and for some rounds the process reads what PostgreSQL has under
 * its lease and releases the unknown ones.
 */
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { readLeased } from '#src/messages/open-recipients.ts'
import type { ScheduleMember } from '#src/queue/keys.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { Queryable } from '#src/stores/db.ts'

/** A broken connection can leave a statement running; a later check finds what it claimed. */
const CHECKS_AFTER_FAILURE = 4
const MAX_CHECKED = 10_000

export interface LeasedRecipient extends ScheduleMember {
  readonly tier: Tier
  readonly lease: number
  /** Absent where it is not known. */
  readonly claimedAt?: Date
  /** Absent where it is not known. */
  readonly campaignId?: string | null
}

export class LeasedRecipients {
  /** A recipient can be in Redis twice and be claimed again while it is being sent: the count keeps it known. */
  readonly #counts = new Map<string, number>()
  readonly #beingReleased = new Set<string>()
  #checksLeft = 0

  /** True while PostgreSQL may have recipients under this process's lease that it does not know. */
  get isUncertain(): boolean {
    return this.#checksLeft > 0
  }

  /**
   * Claims recipients in one statement and counts those that this process then holds; undefined for those that it
   * must not send.
   */
  async claim(
    members: readonly ScheduleMember[],
    claimRecipients: (members: readonly ScheduleMember[]) => Promise<readonly ClaimedRecipient[]>,
  ): Promise<(ClaimedRecipient | undefined)[]> {
    const requested = members.filter((member) => !this.isBeingReleased(member))
    this.add(requested)
    const claimed = await claimRecipients(requested).catch((error: unknown) => {
      this.drop(requested)
      this.markUncertain()
      throw error
    })
    const byName = new Map(claimed.map((one) => [nameOf(one), one]))
    const found = new Map(
      requested.map((member) => {
        const one = byName.get(nameOf(member))
        byName.delete(nameOf(member)) // a recipient that is twice in a batch begins once
        return [member, one] as const
      }),
    )
    this.drop(requested.filter((member) => found.get(member) === undefined))
    return members.map((member) => found.get(member))
  }

  /**
   * Call this before the claim. `drop` must follow for each, except for a recipient that this process must not send
   * again.
   */
  add(recipients: readonly ScheduleMember[]): void {
    for (const one of recipients) this.#counts.set(nameOf(one), (this.#counts.get(nameOf(one)) ?? 0) + 1)
  }

  drop(recipients: readonly Pick<ScheduleMember, 'messageId' | 'n'>[]): void {
    for (const one of recipients) {
      const left = (this.#counts.get(nameOf(one)) ?? 1) - 1
      if (left > 0) this.#counts.set(nameOf(one), left)
      else this.#counts.delete(nameOf(one))
    }
  }

  /** True while a check releases the recipient; it must not be claimed meanwhile. */
  isBeingReleased(recipient: ScheduleMember): boolean {
    return this.#beingReleased.has(nameOf(recipient))
  }

  /** A claim failed, and PostgreSQL may have committed it. */
  markUncertain(): void {
    this.#checksLeft = CHECKS_AFTER_FAILURE
  }

  /**
   * Releases recipients under this lease that this process does not know. Rejects when PostgreSQL is away; repeat the
   * check then.
   */
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

function nameOf({ messageId, n }: Pick<ScheduleMember, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}
