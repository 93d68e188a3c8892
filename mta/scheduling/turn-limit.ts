/**
 * Lets one delivery begin in each turn of the event loop (docs/decisions/135): of the queues that wait, the first of
 * the highest tier. Preparing a message keeps the main thread busy for up to some milliseconds, and replies that arrive
 * together end many deliveries in one turn. If the next ones all began in that turn, everything else would wait for
 * them: each of the ten or so turns that instant mail needs would be long. The order of the work changes, not its
 * amount.
 */
import { type Tier, TIER_NAMES } from '#src/queue/tiers.ts'

/** How many waiters that begin nothing are woken in one turn. */
const MAX_WOKEN = 20

export class TurnLimit<Waiter> {
  readonly #waiting: readonly Map<Waiter, () => void>[] = TIER_NAMES.map(() => new Map())
  #isUsed = false

  /** Nothing that is limited has begun in this turn. */
  get isFree(): boolean {
    return !this.#isUsed
  }

  /** Something begins in this turn. */
  use(): void {
    this.#isUsed = true
    setImmediate(() => this.#nextTurn())
  }

  /**
   * Only while the turn is not free. `begin` is called once, in a later turn. If it begins something, it calls `use`. A
   * waiter stays in its place when it waits again, and may wait in several tiers.
   */
  wait(waiter: Waiter, tier: Tier, begin: () => void): void {
    this.#waiting[TIER_NAMES.indexOf(tier)]?.set(waiter, begin)
  }

  #nextTurn(): void {
    this.#isUsed = false
    let left = MAX_WOKEN
    for (const waiting of this.#waiting)
      for (const [waiter, begin] of waiting) {
        if (this.#isUsed) return
        if (left-- === 0) return this.use()
        waiting.delete(waiter)
        begin()
      }
  }
}
