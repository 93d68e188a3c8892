/**
 * Checks where the HTML of customers is shown. On the host of the API it is sandboxed, but browsers and blocklists
 * judge a host name by its worst page.
 */
import type { Config } from '#config/load.ts'
import { type DoctorCheck, type DoctorFinding, ok, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

export const HOSTED_MAIL: DoctorCheck = {
  name: 'hosted mail',
  run: ({ config }) => Promise.resolve(checkHostedMail(config)),
}

type HostConfig = Pick<Config, 'isSandbox' | 'hostedMailUrl' | 'publicUrl' | 'trackingUrl' | 'subscribeBaseUrl'>

export function checkHostedMail(config: HostConfig): DoctorFinding {
  const { hostedMailUrl, publicUrl, trackingUrl, subscribeBaseUrl } = config
  if (config.isSandbox) return ok(doctorText('hosted_sandbox'))
  if (hostedMailUrl === null)
    return warning(doctorText('hosted_shared', { host: new URL(trackingUrl).host }), doctorText('hosted_shared_todo'))
  const { host } = new URL(hostedMailUrl)
  const shared = Object.entries({
    PUBLIC_URL: publicUrl,
    TRACKING_URL: trackingUrl,
    SUBSCRIBE_BASE_URL: subscribeBaseUrl,
  })
    .filter(([, url]) => new URL(url).host === host)
    .map(([name]) => name)
  if (shared.length > 0)
    return warning(doctorText('hosted_used', { settings: shared.join(' and '), host }), doctorText('hosted_used_todo'))
  return ok(doctorText('hosted_own', { host }))
}
