/**
 * Which of a recipient's hits are told, and as whose: pure, over what is known some seconds after they came. A request that looks like a
 * person's is a program's when it came before the mail did or right behind it, or when links were followed faster than a hand can; for
 * that, each click is looked at with those before it and after it. The same hit again within seconds is one. After so many of a kind
 * nothing more is told: whoever has one link cannot make us write without end.
 */

/** Something asked for the pixel (`url` null) or a link. */
export interface Hit {
  readonly atMs: number
  readonly url: string | null
  readonly address: string
  readonly userAgent: string
  /** The rule of machine-rules.ts that it fits. */
  readonly machine: string | null
}

/** One that was told. */
export interface EarlierHit {
  readonly atMs: number
  readonly url: string | null
  readonly isMachine: boolean
  /** By a rule that says nothing of the pace. */
  readonly isMachineByRequest: boolean
}

export interface DeliveryFacts {
  /** When the receiver was first given the mail; null: not yet, as far as is known. */
  readonly sentAtMs: number | null
  /** It will still change: it waits or is under way. */
  readonly isOpen: boolean
}

export interface ClassifiedHit extends Hit {
  /** The first of its kind that a person made. */
  readonly isFirst: boolean
}

/** A hit is judged when so much time is over: what comes of the same recipient until then is looked at with it. */
export const CLASSIFY_AFTER_MS = 5000
/** Nobody reads a mail so soon. */
const TOO_SOON_MS = 2000
const DUPLICATE_MS = 10_000
/** Different links that are followed in so much time. */
const TOO_FAST: readonly { readonly links: number; readonly ms: number }[] = [
  { links: 2, ms: 1000 },
  { links: 3, ms: CLASSIFY_AFTER_MS },
]
/** Of one recipient, kind and maker. */
const MAX_RECORDED = { person: 100, machine: 20 }

/** `due` in order of time; `later` are those that are not due yet. */
export function classifyHits(due: readonly Hit[], later: readonly Hit[], past: readonly EarlierHit[], delivery: DeliveryFacts): ClassifiedHit[] {
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
    recorded.push({ atMs: hit.atMs, url: hit.url, isMachine: machine !== null, isMachineByRequest: hit.machine !== null })
  }
  return classified
}

function asHit({ atMs, url, isMachineByRequest }: EarlierHit): Hit {
  return { atMs, url, address: '', userAgent: '', machine: isMachineByRequest ? 'told' : null }
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
    // any stretch of that length with this click in it: it begins with one of those before it
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
