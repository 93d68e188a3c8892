/**
 * What is tracked of the mail of one recipient, where the message, its workspace or its kind wishes it. Mail that is not tracked costs one
 * look at a setting that is kept in memory. A database that is away is trouble of ours, as for any stage: the mail waits, for what it says
 * must not depend on it.
 */
import type { Claimed } from '#src/messages/claim.ts'
import type { Links, MailRef } from '#src/tracking/links.ts'
import type { MarkOrder } from '#src/tracking/mark-order.ts'
import { judgeTracking, type Origin, type TrackingCache } from '#src/tracking/settings.ts'

export type Marked = Pick<
  Claimed,
  'messageId' | 'n' | 'workspaceId' | 'recipe' | 'submitted' | 'trackOpens' | 'trackClicks'
>

/** Null: nothing is. */
export type Marking = (about: Marked) => Promise<MarkOrder | null>

export function createMarking(links: Links, tracking: TrackingCache): Marking {
  return async (about) => {
    const { trackOpens: opens, trackClicks: clicks, workspaceId, messageId, n } = about
    if (opens === false && clicks === false) return null
    const workspace = await tracking.find(workspaceId)
    const wished = judgeTracking(originOf(about), { opens, clicks }, workspace)
    if (!wished.opens && !wished.clicks) return null
    const ref: MailRef = { base: workspace.base, messageId, n, workspaceId, contactId: null, audienceId: null }
    return { pixel: wished.opens ? links.open(ref) : null, pen: wished.clicks ? links.clickPen(ref) : null }
  }
}

function originOf({ recipe, submitted }: Marked): Origin {
  if (recipe !== null) return 'marketing'
  return submitted === null ? 'api' : 'submission'
}
