/** What is to be marked in one mail for one recipient. As plain data it may travel to a thread. */
import { isOurLink } from './links.ts'
import { signClickLink, type ClickLinkSigner } from './click-signer.ts'
import type { TrackingMarkup } from './html-tracking.ts'

export interface TrackingPlan {
  /** Address of the open pixel; null = none. */
  readonly pixel: string | null
  /** Null: links are left alone. */
  readonly clickSigner: ClickLinkSigner | null
}

/** Links of ours are never wrapped. */
export function trackingEditsOf({ pixel, clickSigner }: TrackingPlan): TrackingMarkup {
  return { pixel, link: clickSigner === null ? null : (url) => (isOurLink(clickSigner.base, url) ? null : signClickLink(clickSigner, url)) }
}
