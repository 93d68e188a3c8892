/** An api with an OAuth server as its provider, and what a person does in a browser to connect a mailbox. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { hiddenField, type Browser, type BrowserPage } from '#test/support/browser.ts'
import { startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { startOAuthServer, type OAuthServer } from '#test/support/oauth-server.ts'

const PUBLIC_URL = 'http://mailstead.example'
/** Who signs in unless the URL names somebody else. */
export const VICTIM = 'victim@mailbox.example'

export interface SignInScene {
  readonly api: TestApi
  readonly oauth: OAuthServer
  readonly providersFile: string
  readonly start: (query?: string) => Promise<TestResponse>
  /** A URL of PUBLIC_URL at the server under test. */
  readonly at: (url: string | URL) => string
  /** Starts a sign-in; its first page. */
  readonly begin: (query?: string) => Promise<string>
  /** Presses the button of the first page; where it leads. */
  readonly toProvider: (browser: Browser, url: string) => Promise<string>
  /** Signs in; the page that asks for confirmation. */
  readonly signIn: (browser: Browser, url: string) => Promise<BrowserPage>
  readonly confirm: (
    browser: Browser,
    page: BrowserPage,
    more?: Readonly<Record<string, string>>,
  ) => Promise<BrowserPage>
  /** The mailboxes that are connected. */
  readonly accounts: () => Promise<string[]>
}

/** Adds hooks to the suite that start and stop both servers. */
export function setUpSignIns(): SignInScene {
  let api: TestApi
  let oauth: OAuthServer
  let dir: string
  before(async () => {
    oauth = await startOAuthServer({ redirectUri: `${PUBLIC_URL}/oauth/callback`, email: VICTIM })
    dir = mkdtempSync('/tmp/mailstead-oauth-')
    const corp = {
      clientId: oauth.clientId,
      clientSecret: oauth.clientSecret,
      authorizeUrl: `${oauth.url}/auth`,
      tokenUrl: `${oauth.url}/token`,
      revokeUrl: `${oauth.url}/token/revocation`,
      scopes: ['openid', 'email', 'offline_access'],
      parameters: { prompt: 'consent' },
      smtpHost: 'smtp.mailbox.example',
      smtpPort: 465,
      security: 'tls',
    }
    const simple = { ...corp, revokeUrl: null }
    const away = { ...corp, tokenUrl: 'http://127.0.0.1:1/token' }
    writeFileSync(
      join(dir, 'providers.json'),
      JSON.stringify({ corp, simple, away, google: { clientId: 'a client of Google' } }),
    )
    api = await startApi({
      PUBLIC_URL,
      OAUTH_PROVIDERS_FILE: join(dir, 'providers.json'),
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
    })
    await api.db.query(`UPDATE workspaces SET name = 'Acme <b>& Sons' WHERE id = $1`, [api.workspaceId])
  })
  after(async () => {
    await api.stop()
    await oauth.stop()
    rmSync(dir, { recursive: true })
  })
  afterEach(() => api.db.query('DELETE FROM connected_accounts'))

  const start = (query = 'provider=corp'): Promise<TestResponse> =>
    api.call('GET', `/public/accounts/oauth/start?${query}`, { key: api.admin })
  const at = (url: string | URL): string => api.url + new URL(url).pathname + new URL(url).search
  const begin = async (query?: string): Promise<string> =>
    at(textOf((await start(query)).body['data']?.['authorize_url']))
  async function toProvider(browser: Browser, url: string): Promise<string> {
    const { status, headers, text } = await browser.post(url, {})
    assert.strictEqual(status, 200, text)
    return (headers.get('refresh') ?? '').slice('0; url='.length)
  }
  const signIn = async (browser: Browser, url: string): Promise<BrowserPage> =>
    browser.get(at(await oauth.signIn(await toProvider(browser, url))))
  const confirm = (
    browser: Browser,
    page: BrowserPage,
    more: Readonly<Record<string, string>> = {},
  ): Promise<BrowserPage> =>
    browser.post(`${api.url}/oauth/callback`, {
      state: hiddenField(page, 'state'),
      grant: hiddenField(page, 'grant'),
      ...more,
    })
  const accounts = async (): Promise<string[]> =>
    (await api.db.query<{ username: string }>('SELECT username FROM connected_accounts')).rows.map(
      (row) => row.username,
    )

  return {
    get api() {
      return api
    },
    get oauth() {
      return oauth
    },
    get providersFile() {
      return join(dir, 'providers.json')
    },
    start,
    at,
    begin,
    toProvider,
    signIn,
    confirm,
    accounts,
  }
}
