/**
 * Decides which of a recipient's hits become events, and whether a person or a machine made them. Pure; runs some
 * seconds after the hits arrived. A request that looks like a person's is a machine's if it came before or right after
 * the delivery, or if links were followed faster than a person can: each click is compared with the clicks before and
 * after it. The same hit within seconds counts once. At most 100 events of one type by a person (20 by machines) are
 * recorded per recipient, so a link cannot be used to write without limit.
 */

/** A request for the pixel (`url` null) or a link. */
export interface Hit {
  readonly atMs: number
  readonly url: string | null
  readonly address: string
  readonly userAgent: string
  /** The rule of machine-rules.ts that matched. */
  readonly machine: string | null
}

/** A hit recorded before. */
export interface EarlierHit {
  readonly atMs: number
  readonly url: string | null
  readonly isMachine: boolean
  /** A rule about the single request matched, not one about time or speed. */
  readonly isMachineByRequest: boolean
}

export interface DeliveryFacts {
  /** When the message was first sent; null: not yet, as far as is known. */
  readonly sentAtMs: number | null
  /** The recipient's state can still change. */
  readonly isOpen: boolean
}

export interface ClassifiedHit extends Hit {
  /** The first hit of its kind by a person. */
  readonly isFirst: boolean
}

/** A hit is classified after this time, together with later hits of the same recipient. */
export const CLASSIFY_AFTER_MS = 5000
/** No person reads a message so soon after delivery. */
const TOO_SOON_MS = 2000
const DUPLICATE_MS = 10_000
/** Numbers of different links that a person cannot follow within the time. */
const TOO_FAST: readonly { readonly links: number; readonly ms: number }[] = [
  { links: 2, ms: 1000 },
  { links: 3, ms: CLASSIFY_AFTER_MS },
]
/** Events recorded per recipient and type, by person or machine. */
const MAX_RECORDED = { person: 100, machine: 20 }

/** `due`: ordered by time; `later`: hits that are not due yet. */
export function classifyHits(
  due: readonly Hit[],
  later: readonly Hit[],
  past: readonly EarlierHit[],
  delivery: DeliveryFacts,
): ClassifiedHit[] {
  const clicks = [...due, ...later, ...past.map(asHit)].filter(({ url, machine }) => url !== null && machine === null)
  const recorded: EarlierHit[] = [...past]
  const classified: ClassifiedHit[] = []
  for (const hit of due) {
    const machine = hit.machine ?? ruleByTime(hit, delivery) ?? ruleBySpeed(hit, clicks)
    const same = recorded.filter(
      ({ url, isMachine }) => (url === null) === (hit.url === null) && isMachine === (machine !== null),
    )
    if (same.length >= MAX_RECORDED[machine === null ? 'person' : 'machine']) continue
    if (same.some(({ url, atMs }) => url === hit.url && Math.abs(atMs - hit.atMs) < DUPLICATE_MS)) continue
    classified.push({ ...hit, machine, isFirst: machine === null && same.length === 0 })
    recorded.push({
      atMs: hit.atMs,
      url: hit.url,
      isMachine: machine !== null,
      isMachineByRequest: hit.machine !== null,
    })
  }
  return classified
}

function asHit({ atMs, url, isMachineByRequest }: EarlierHit): Hit {
  return { atMs, url, address: '', userAgent: '', machine: isMachineByRequest ? 'recorded' : null }
}

function ruleByTime({ atMs }: Hit, { sentAtMs, isOpen }: DeliveryFacts): string | null {
  if (sentAtMs === null) return isOpen ? 'before-delivery' : null
  if (atMs < sentAtMs) return 'before-delivery'
  return atMs < sentAtMs + TOO_SOON_MS ? 'too-soon' : null
}

function ruleBySpeed({ url, atMs }: Hit, clicks: readonly Hit[]): string | null {
  if (url === null) return null
  return TOO_FAST.some(({ links, ms }) => {
    const near = clicks.filter((click) => Math.abs(click.atMs - atMs) <= ms)
    // every window of that length that contains this click begins with a click before it
    const starts = near.filter((click) => click.atMs <= atMs)
    return starts.some(
      (start) => countLinks(near.filter((click) => click.atMs >= start.atMs && click.atMs - start.atMs <= ms)) >= links,
    )
  })
    ? 'all-links'
    : null
}

function countLinks(clicks: readonly Hit[]): number {
  return new Set(clicks.map(({ url }) => url)).size
}
