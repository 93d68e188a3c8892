/** Deliveries that wait for their turn, strictly by tier, and first come first served within a tier. */
import { type Tier, TIER_NAMES } from '#src/queue/tiers.ts'

export class TierQueue {
  readonly #waiting: readonly ((isAdmitted: boolean) => void)[][] = TIER_NAMES.map(() => [])

  /** Resolves with true when it is this delivery's turn, with false when nothing may begin now. */
  wait(tier: Tier): Promise<boolean> {
    return new Promise<boolean>((resolve) => {
      this.#waiting[TIER_NAMES.indexOf(tier)]?.push(resolve)
    })
  }

  /** Admits waiting deliveries, the highest tier first, while `tryAdmit` admits one of the tier. */
  admit(tryAdmit: (tier: Tier) => boolean): void {
    for (const [rank, tier] of TIER_NAMES.entries()) {
      const queue = this.#waiting[rank]
      while (queue !== undefined && queue.length > 0 && tryAdmit(tier)) queue.shift()?.(true)
    }
  }

  refuseAll(): void {
    for (const queue of this.#waiting) for (const resolve of queue.splice(0)) resolve(false)
  }
}
