/**
 * Open pixel and wrapped links for the mail of one recipient, where the message, its workspace or its kind wishes them. Mail that is not
 * tracked costs one look at a setting that is kept in memory. A database that is away is trouble of ours, as for any stage: the mail waits,
 * for what it says must not depend on it.
 */
import type { Draft } from '#mta/compose/draft.ts'
import { trackDraft } from '#mta/compose/track.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Links, MailRef } from '#src/tracking/links.ts'
import { judgeTracking, type Origin, type TrackingCache } from '#src/tracking/settings.ts'

export type Marked = Pick<Claimed, 'messageId' | 'n' | 'workspaceId' | 'recipe' | 'submitted' | 'trackOpens' | 'trackClicks'>

export type Marking = (draft: Draft, about: Marked) => Promise<Draft>

export function createMarking(links: Links, tracking: TrackingCache): Marking {
  return async (draft, about) => {
    const { trackOpens: opens, trackClicks: clicks, workspaceId, messageId, n } = about
    const origin = originOf(about)
    const hasSaid = opens === false && clicks === false
    if (hasSaid || (draft.html === null && draft.raw === null)) return draft
    const workspace = await tracking.find(workspaceId)
    const wished = judgeTracking(origin, { opens, clicks }, workspace)
    if (!wished.opens && !wished.clicks) return draft
    const ref: MailRef = { base: workspace.base, messageId, n, workspaceId, contactId: null, audienceId: null }
    return trackDraft(draft, {
      pixel: wished.opens ? links.open(ref) : null,
      link: wished.clicks ? (url) => links.isOurs(ref, url) ? null : links.click(ref, url) : null,
    })
  }
}

function originOf({ recipe, submitted }: Marked): Origin {
  if (recipe !== null) return 'marketing'
  return submitted === null ? 'api' : 'submission'
}
