import { assert } from 'chai'
import { createContext, type TestContext } from '#test/support/context.ts'
import { newId } from '#src/platform/id.ts'
import { resolveTracking, loadTracking, type MailOrigin, type TrackingPreference } from './settings.ts'

const preference = (said: boolean | null): TrackingPreference => ({ opens: said, clicks: said })

describe('the choice of what is tracked', () => {
  const cases: readonly (readonly [MailOrigin, mail: boolean | null, workspace: boolean | null, isTracked: boolean])[] =
    [
      ['api', null, null, false],
      ['api', true, false, true],
      ['api', false, true, false],
      ['api', null, true, true],
      ['api', null, false, false],
      ['submission', null, true, false],
      ['submission', true, false, true],
      ['submission', false, null, false],
      ['marketing', null, null, true],
      ['marketing', null, false, false],
      ['marketing', false, true, false],
      ['marketing', true, false, true],
    ]
  for (const [origin, mail, workspace, isTracked] of cases) {
    it(`${origin}: the mail says ${mail}, the workspace ${workspace}: ${isTracked}`, () => {
      assert.deepEqual(resolveTracking(origin, preference(mail), preference(workspace)), {
        opens: isTracked,
        areOpensRequested: isTracked && (mail ?? workspace) === true,
        clicks: isTracked,
      })
    })
  }
  it('decides opens and clicks separately', () => {
    assert.deepEqual(resolveTracking('api', { opens: true, clicks: null }, { opens: null, clicks: false }), {
      opens: true,
      areOpensRequested: true,
      clicks: false,
    })
  })
})

describe('the tracking of a workspace', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext({ PUBLIC_URL: 'https://app.op.example/here' })
  })
  after(() => ctx.close())

  it('uses the shared host name until that of its domain is verified', async () => {
    const workspaceId = await ctx.newWorkspace()
    const domainId = newId()
    assert.deepEqual(await loadTracking(ctx, workspaceId), {
      opens: null,
      clicks: null,
      privacy: 'full',
      base: 'https://app.op.example',
    })
    await ctx.db.query(`INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, $3)`, [
      domainId,
      workspaceId,
      `${domainId}.example`,
    ])
    await ctx.db.query('UPDATE workspaces SET tracking_domain_id = $2, track_opens = true WHERE id = $1', [
      workspaceId,
      domainId,
    ])
    assert.strictEqual((await loadTracking(ctx, workspaceId)).base, 'https://app.op.example')
    await ctx.db.query(
      `UPDATE domains SET tracking_status = 'verified', verification_status = 'verified' WHERE id = $1`,
      [domainId],
    )
    assert.deepEqual(await loadTracking(ctx, workspaceId), {
      opens: true,
      clicks: null,
      privacy: 'full',
      base: `https://track.${domainId}.example`,
    })
    await ctx.db.query('DELETE FROM domains WHERE id = $1', [domainId])
    assert.strictEqual((await loadTracking(ctx, workspaceId)).base, 'https://app.op.example')
  })
  it('that was deleted is off', async () => {
    assert.deepEqual(await loadTracking(ctx, newId()), {
      opens: false,
      clicks: false,
      privacy: 'none',
      base: 'https://app.op.example',
    })
  })
})
