/**
 * A further campaign for those who got one and did not open it: a draft with the same content, audiences and sender, which its owner may
 * change and send. Who it goes to is decided when it starts, by the ledger of the first.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { CampaignName } from './transitions.ts'
import type { CampaignState } from './state.ts'
import { createCampaign, findCampaign, type Campaign } from './store.ts'

const GOT_BY_SOME: readonly CampaignState[] = ['SENDING', 'PAUSED', 'SENT', 'COMPLETED', 'CANCELLED']
const MAX_NAME = 255

export type FollowUp =
  | { readonly kind: 'created'; readonly campaign: Campaign }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'too-many' }
  | { readonly kind: 'elsewhere'; readonly status: CampaignState }

/** `name` and `subject`: null takes those of the first. */
export async function followUp(
  db: Queryable,
  { workspaceId, id }: CampaignName,
  given: { readonly name: string | null; readonly subject: string | null },
): Promise<FollowUp> {
  const first = await findCampaign(db, workspaceId, id)
  if (first === null) return { kind: 'not-found' }
  if (!GOT_BY_SOME.includes(first.status)) return { kind: 'elsewhere', status: first.status }
  const { templateId, body, text, fromEmail, fromName, replyTo, audienceIds, segmentId, trackOpens, trackClicks } =
    first
  const campaign = await createCampaign(db, workspaceId, {
    name: given.name ?? `${first.name} (again)`.slice(0, MAX_NAME),
    templateId,
    subject: given.subject ?? first.subject,
    body,
    text,
    fromEmail,
    fromName,
    replyTo,
    audienceIds,
    segmentId,
    trackOpens,
    trackClicks,
    followsId: id,
  })
  return campaign === null ? { kind: 'too-many' } : { kind: 'created', campaign }
}
