/**
 * What this process holds under its lease, by its own count: recipients that it asked PostgreSQL for or is sending.
 *
 * The answer to a claim can be lost with its connection after the claim was carried out: PostgreSQL then says that we send what nobody here
 * knows of, and our living lease would keep it for ever. So a claim that failed puts what we hold in doubt, and for a while PostgreSQL is
 * asked for it: what is ours there and in nobody's hands here is given back.
 */
import type { Queryable } from '#src/db.ts'
import { readLeased } from '#src/messages/waiting.ts'
import type { Member } from '#src/queue/member.ts'
import type { Tier } from '#src/queue/tiers.ts'

/** A connection that broke may leave a statement that is still being carried out; it is found by a later look. */
const LOOKS = 4
const MOST = 10_000

export interface Held extends Member {
  readonly tier: Tier
  readonly lease: number
  /** Left out where it is not known. */
  readonly campaignId?: string | null
}

export class Holdings {
  /** A recipient that stands twice in Redis may be asked for while it is being sent: counted, it stays ours. */
  readonly #counts = new Map<string, number>()
  readonly #leaving = new Set<string>()
  #looksLeft = 0

  get isInDoubt(): boolean {
    return this.#looksLeft > 0
  }

  /**
   * To be called before PostgreSQL is asked; `drop` must follow for each, or be left out for one that must not be sent again by this
   * process.
   */
  take(recipients: readonly Member[]): void {
    for (const one of recipients) this.#counts.set(nameOf(one), (this.#counts.get(nameOf(one)) ?? 0) + 1)
  }

  drop(recipients: readonly Pick<Member, 'messageId' | 'n'>[]): void {
    for (const one of recipients) {
      const left = (this.#counts.get(nameOf(one)) ?? 1) - 1
      if (left > 0) this.#counts.set(nameOf(one), left)
      else this.#counts.delete(nameOf(one))
    }
  }

  /** It is being given back, as nobody knew of it; until that is done it is not asked for. */
  isLeaving(recipient: Member): boolean {
    return this.#leaving.has(nameOf(recipient))
  }

  doubt(): void {
    this.#looksLeft = LOOKS
  }

  /** Gives back what PostgreSQL counts as ours and nobody here holds. Rejects when PostgreSQL is away; the doubt stays. */
  async look(db: Queryable, lease: number, release: (held: readonly Held[]) => Promise<void>): Promise<void> {
    const held = await readLeased(db, [lease], MOST)
    this.#looksLeft--
    const forgotten = held.filter((one) => !this.#counts.has(nameOf(one)) && !this.#leaving.has(nameOf(one)))
    for (const one of forgotten) this.#leaving.add(nameOf(one))
    try {
      if (forgotten.length > 0) await release(forgotten)
    } finally {
      for (const one of forgotten) this.#leaving.delete(nameOf(one))
    }
  }
}

function nameOf({ messageId, n }: Pick<Member, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}
