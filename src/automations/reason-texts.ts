/** Why a contact waits in an automation or has left it, by code. It is stored as a sentence. */
import { createSentenceFinder } from '#src/platform/sentence-codes.ts'

export const ENROLMENT_REASON_TEXTS = {
  unenrolled: 'unenrolled',
  archived: 'the automation was archived',
  contact_gone: 'the contact is gone',
  step_gone: 'its current step no longer exists',
  ended_by_step: 'a step ended it',
  step_failed: 'the step failed: {problem}',
  mail_step_gone: 'the mail step was not found',
  workspace_deleted: 'the workspace was deleted',
  quota_used: 'the quota of the month is used up',
  template_deleted: 'its template was deleted',
  sender_not_verified: '{address} is not an address of a verified domain of the workspace',
  opted_out: 'the contact opted out of all messages',
  not_subscribed: 'the contact is no longer subscribed to the audience',
} as const satisfies Readonly<Record<string, string>>

/** Null: the reason has no code. */
export const findEnrolmentTranslation = createSentenceFinder('enrolment_reason', ENROLMENT_REASON_TEXTS)
