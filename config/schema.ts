/**
 * Every setting of Mailstead, by group. Each row names the environment variable, its reader, default, unit and
 * description. `load.ts` reads the environment through this table, and `mailstead settings` prints
 * docs/reference/settings.md from it. A new setting is one row in a file of `settings/`.
 *
 * `NAME_FILE` works for every row: the value is then the trimmed content of that file (for mounted secrets).
 */
import { apiSettings } from '#config/settings/api.ts'
import { backupSettings } from '#config/settings/backup.ts'
import { certificateSettings } from '#config/settings/certificates.ts'
import { deliverySettings } from '#config/settings/delivery.ts'
import { dnsSettings } from '#config/settings/dns.ts'
import { feedbackSettings } from '#config/settings/feedback.ts'
import { inboundSettings } from '#config/settings/inbound.ts'
import { limitSettings } from '#config/settings/limits.ts'
import { peopleSettings } from '#config/settings/people.ts'
import { retentionSettings } from '#config/settings/retention.ts'
import { sandboxSettings } from '#config/settings/sandbox.ts'
import { securitySettings } from '#config/settings/security.ts'
import { serverSettings } from '#config/settings/server.ts'
import type { Setting } from '#config/settings/setting.ts'
import { sourceSettings } from '#config/settings/sources.ts'
import { submissionSettings } from '#config/settings/submission.ts'
import { tlsSettings } from '#config/settings/tls.ts'
import { traceSettings } from '#config/settings/traces.ts'
import { trackingSettings } from '#config/settings/tracking.ts'
import { workspaceSettings } from '#config/settings/workspaces.ts'

export type { Setting } from '#config/settings/setting.ts'

export interface SettingGroup {
  readonly title: string
  readonly settings: Readonly<Record<string, Setting<unknown>>>
}

/** In the order of the reference page. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  { title: 'Server and stores', settings: serverSettings },
  { title: 'API and pages', settings: apiSettings },
  { title: 'Security', settings: securitySettings },
  { title: 'People', settings: peopleSettings },
  { title: 'Backup', settings: backupSettings },
  { title: 'Workspaces and plans', settings: workspaceSettings },
  { title: 'Limits', settings: limitSettings },
  { title: 'Retention', settings: retentionSettings },
  { title: 'Delivery', settings: deliverySettings },
  { title: 'Sending IPs', settings: sourceSettings },
  { title: 'DNS', settings: dnsSettings },
  { title: 'TLS', settings: tlsSettings },
  { title: 'Automatic certificates', settings: certificateSettings },
  { title: 'SMTP submission', settings: submissionSettings },
  { title: 'Inbound mail', settings: inboundSettings },
  { title: 'Feedback loops', settings: feedbackSettings },
  { title: 'Tracking', settings: trackingSettings },
  { title: 'Traces', settings: traceSettings },
  { title: 'Sandbox', settings: sandboxSettings },
]

/** All rows, by the name of the value in `Config`. */
export const SETTINGS = {
  ...serverSettings,
  ...apiSettings,
  ...securitySettings,
  ...peopleSettings,
  ...backupSettings,
  ...workspaceSettings,
  ...limitSettings,
  ...retentionSettings,
  ...deliverySettings,
  ...sourceSettings,
  ...dnsSettings,
  ...tlsSettings,
  ...certificateSettings,
  ...submissionSettings,
  ...inboundSettings,
  ...feedbackSettings,
  ...trackingSettings,
  ...traceSettings,
  ...sandboxSettings,
} as const
