/** A submission for tests: one recipient, plain text, from a sender of the workspace. Any field can be overridden. */
import { newId } from '#src/platform/id.ts'
import type { Submission } from '#src/messages/submission.ts'

export function submissionOf(workspaceId: string, overrides: Partial<Submission> = {}): Submission {
  return {
    id: newId(),
    workspaceId,
    apiKeyId: null,
    domainId: null,
    tier: 'normal',
    from: { email: 'shop@sender.example', name: null },
    replyTo: null,
    to: [{ email: 'ada@receiver.example', name: null }],
    cc: [],
    recipients: [{ address: 'ada@receiver.example', domain: 'receiver.example', kind: 'to' }],
    subject: 'Hello',
    html: null,
    text: 'Hello Ada',
    headers: [],
    attachments: [],
    tags: [],
    metadata: null,
    trackOpens: null,
    trackClicks: null,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: new Date(),
    quota: null,
    idempotency: null,
    ...overrides,
  }
}

/** Recipients `r0@receiver.example`, `r1@…`. */
export function testRecipients(count: number): Submission['recipients'] {
  return Array.from({ length: count }, (_, i) => ({
    address: `r${i}@receiver.example`,
    domain: 'receiver.example',
    kind: 'to' as const,
  }))
}
