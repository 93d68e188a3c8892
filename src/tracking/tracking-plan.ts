/** What is to be marked in one mail for one recipient. As plain data it may travel to a thread. */
import { isOurLink } from './links.ts'
import { writeClick, type ClickPen } from './click-signer.ts'
import type { Marks } from './html-tracking.ts'

export interface MarkOrder {
  /** Address of the open pixel; null = none. */
  readonly pixel: string | null
  /** Null: links are left alone. */
  readonly pen: ClickPen | null
}

/** Links of ours are never wrapped. */
export function marksOf({ pixel, pen }: MarkOrder): Marks {
  return { pixel, link: pen === null ? null : (url) => (isOurLink(pen.base, url) ? null : writeClick(pen, url)) }
}
