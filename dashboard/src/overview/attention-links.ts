/** Where what needs attention is put right. */
import type { AttentionItem } from '#dashboard/src/api/endpoints.ts'

export interface AttentionLink {
  /** Below the address of the workspace. */
  readonly path: string
  readonly search?: Readonly<Record<string, string>>
}

const OBJECTS: Readonly<Record<string, (id: string) => AttentionLink>> = {
  domain: (id) => ({ path: `/domains/${id}` }),
  account: (id) => ({ path: '/accounts', search: { account: id } }),
  webhook: (id) => ({ path: `/webhooks/${id}` }),
  campaign: (id) => ({ path: `/campaigns/${id}` }),
  key: (id) => ({ path: '/keys', search: { key: id } }),
}
/** Of the workspace itself. */
const KINDS: Readonly<Record<string, AttentionLink>> = {
  'bounce-rate': { path: '/messages', search: { status: 'bounced', period: '24h' } },
  'complaint-rate': { path: '/deliverability' },
  'quota-near': { path: '/settings' },
  'quota-used': { path: '/settings' },
  'workspace-suspended': { path: '/settings' },
}

/** Null for a kind that this version does not know. */
export function attentionLink({ kind, object }: Pick<AttentionItem, 'kind' | 'object'>): AttentionLink | null {
  if (object === null) return KINDS[kind] ?? null
  return OBJECTS[object.type]?.(object.id) ?? null
}
