/**
 * The dashboard in a real browser, on one installation that all parts use in this order. To run one of them:
 * `npm test -- test/dashboard --grep "signing in"`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { useDashboard } from '#test/support/dashboard.ts'
import { freePort } from '#test/support/free-ports.ts'
import { startIdentityServer, type IdentityServer } from '#test/support/identity-server.ts'
import { describeCampaigns } from './campaigns.ts'
import { describeDomains } from './domains.ts'
import { describeFirstRun } from './first-run.ts'
import { describePages } from './pages.ts'
import { describePeople, VIEWER } from './people.ts'
import { describeSignIn } from './sign-in.ts'
import { describeTemplates } from './templates.ts'
import { describeWebhooks } from './webhooks.ts'

describe('dashboard', () => {
  let identity: IdentityServer | undefined
  let folder: string | undefined
  const started = useDashboard(async () => {
    const port = await freePort()
    identity = await startIdentityServer([`http://localhost:${port}/auth/callback/corp`], VIEWER)
    folder = mkdtempSync('/tmp/mailstead-test-')
    const { url: issuer, clientId, clientSecret } = identity
    const providers = { corp: { issuer, clientId, clientSecret, label: 'Corp' } }
    writeFileSync(`${folder}/providers.json`, JSON.stringify(providers))
    return {
      HTTP_PORT: String(port),
      IDENTITY_PROVIDERS_FILE: `${folder}/providers.json`,
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
    }
  })
  after(async () => {
    await identity?.stop()
    if (folder !== undefined) rmSync(folder, { recursive: true })
  })

  // the first run is first: it is about an installation that nobody has used
  describeFirstRun(started)
  describeSignIn(started)
  describeDomains(started)
  describeWebhooks(started)
  describeTemplates(started)
  describeCampaigns(started)
  describePages(started)
  // last: a new passkey ends the other sessions of the operator
  describePeople(started)
})
