/**
 * Whether the links in mail lead to this installation: the URLs of the API, of tracking and unsubscribe links, of forms
 * and of hosted mail must have https and a public host. Pure: nothing is connected to.
 *
 * Without a usable URL campaigns are held back (campaign-hold.ts). An installation without MODE whose routes lead to
 * this machine is a test: its links may have any URL.
 */
import { isIP } from 'node:net'
import { type Config, isPublicName } from '#config/load.ts'
import { isLoopback, isReachable } from '#src/net/address-policy.ts'
import { joinSaid } from '#src/platform/finding-text.ts'
import { failed, type LiveFinding, ok } from './finding.ts'
import { liveCheckText } from './live-check-texts.ts'

export type UrlSettings = Pick<Config, 'publicUrl' | 'trackingUrl' | 'subscribeBaseUrl' | 'hostedMailUrl'>

/** The URLs of links, by the setting that changes each; a URL that follows PUBLIC_URL is listed once. */
export function publicUrlsOf(config: UrlSettings): readonly (readonly [setting: string, url: URL])[] {
  const rows: readonly (readonly [string, string | null])[] = [
    ['PUBLIC_URL', config.publicUrl],
    ['TRACKING_URL', config.trackingUrl],
    ['SUBSCRIBE_BASE_URL', config.subscribeBaseUrl],
    ['HOSTED_MAIL_URL', config.hostedMailUrl],
  ]
  const seen = new Set<string>()
  return rows.flatMap(([setting, text]) => {
    if (text === null) return []
    const url = new URL(text)
    if (seen.has(url.origin)) return []
    seen.add(url.origin)
    return [[setting, url] as const]
  })
}

export function checkPublicUrls(config: UrlSettings): LiveFinding {
  const urls = publicUrlsOf(config)
  const wrong = urls.flatMap(([setting, url]) =>
    problemOf(url).map((problem) => ({ setting, url: url.origin, problem })),
  )
  if (wrong.length === 0) return ok(liveCheckText('urls', { urls: urls.map(([, url]) => url.origin).join(', ') }))
  return failed(
    joinSaid(wrong.map(({ problem, ...what }) => liveCheckText(problem, what))),
    liveCheckText('urls_todo', { settings: wrong.map(({ setting }) => `${setting}=https://…`).join(' and ') }),
  )
}

function problemOf({ protocol, hostname }: URL): ('url_unreachable' | 'url_plain')[] {
  const host = hostname.replace(/^\[|\]$/g, '')
  const isPublic = isIP(host) === 0 ? isPublicName(host) : isReachable(host, [])
  if (!isPublic) return ['url_unreachable']
  return protocol === 'https:' ? [] : ['url_plain']
}

/** Why campaigns must not be sent with these settings: mail to the internet would have links to nowhere. */
export function findDeadLinks(config: UrlSettings & ModeSettings): LiveFinding | null {
  if (!sendsToInternet(config)) return null
  const found = checkPublicUrls(config)
  return found.status === 'failed' ? found : null
}

type ModeSettings = Pick<Config, 'isSandbox' | 'isLive' | 'serverName' | 'routes' | 'allowPrivateTargets'>

function sendsToInternet({ isSandbox, isLive, routes, allowPrivateTargets, serverName }: ModeSettings): boolean {
  if (isSandbox || isLive) return isLive
  const isTest =
    allowPrivateTargets.length > 0 ||
    (routes.length > 0 && routes.every(({ host }) => host === 'localhost' || isLoopback(host)))
  return !isTest && isPublicName(serverName)
}
