/** What to track in one message for one recipient. Plain data, so it can be passed to a render thread. */
import { isOurLink } from './links.ts'
import { clickLinksOf, type ClickLinkSigner } from './click-signer.ts'
import type { TrackingMarkup } from './html-tracking.ts'

export interface TrackingPlan {
  /** URL of the open pixel; null = none. */
  readonly pixel: string | null
  /** It is there by default, nobody asked for it: a short mail without images goes without (html-tracking.ts). */
  readonly isPixelOptional?: boolean
  /** Null: links are not wrapped. */
  readonly clickSigner: ClickLinkSigner | null
}

export function trackingEditsOf({ pixel, isPixelOptional = false, clickSigner }: TrackingPlan): TrackingMarkup {
  return { pixel, isPixelOptional, link: clickSigner === null ? null : wrapLinks(clickSigner) }
}

/** Mailstead's own links are never wrapped. */
function wrapLinks(clickSigner: ClickLinkSigner): (url: string) => string | null {
  const bases = [clickSigner.base, clickSigner.hostedBase]
  const wrap = clickLinksOf(clickSigner)
  return (url) => (isOurLink(bases, url) ? null : wrap(url))
}
