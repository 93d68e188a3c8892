/** The commands for what belongs to a workspace, from the audience to the deletion of the workspace, on a database. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { runCommand, type CommandMain, type CommandResult } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'

const MAIN: Readonly<Record<string, () => Promise<{ run: CommandMain }>>> = {
  audience: () => import('./audience.ts'),
  branding: () => import('./branding.ts'),
  campaign: () => import('./campaign.ts'),
  contact: () => import('./contact.ts'),
  domain: () => import('./domain.ts'),
  inbound: () => import('./inbound.ts'),
  suppression: () => import('./suppression.ts'),
  template: () => import('./template.ts'),
  webhook: () => import('./webhook.ts'),
  workspace: () => import('./workspace.ts'),
}

type Json = Readonly<Record<string, unknown>>

describe('the commands for the objects of a workspace', () => {
  let ctx: TestContext
  let folder: string
  let workspaceId: string
  let otherId: string

  before(async () => {
    ctx = await createContext()
    folder = mkdtempSync('/tmp/mailstead-test-objects-')
    writeFileSync(join(folder, 'body.html'), '<p>Hello {{firstName}}</p><a href="{{unsubscribeUrl}}">Unsubscribe</a>')
    writeFileSync(join(folder, 'list.csv'), 'email,reason\nold@x.example,left\nnot an address,\n')
    workspaceId = await ctx.newWorkspace()
    otherId = await ctx.newWorkspace()
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await ctx.close()
  })

  const call = async (command: string, ...args: string[]): Promise<CommandResult> => {
    const { run } = (await MAIN[command]?.()) ?? assert.fail(command)
    const env = { DATABASE_URL: ctx.databaseUrl, REDIS_URL: ctx.redisUrl, MASTER_KEY: '5a'.repeat(32) }
    return runCommand(run, args, env)
  }
  /** Of the workspace, as JSON. */
  const callJson = async (command: string, ...args: string[]): Promise<Json> => {
    const { code, out, err } = await call(command, ...args, '--workspace', workspaceId, '--json')
    assert.strictEqual(code, 0, err)
    return JSON.parse(out) as Json
  }
  const idOf = (json: Json): string => String(json['id'])

  it('send the link to an address of an inbound route again', async () => {
    await ctx.db.query(
      `INSERT INTO domains (id, workspace_id, domain, verification_status) VALUES ($1, $2, 'in.example', 'verified')`,
      [newId(), workspaceId],
    )
    const forward = ['--action', 'forward', '--forward', 'anna@outside.example']
    const id = idOf(await callJson('inbound', 'create', 'support@in.example', ...forward))
    const resend = (...address: string[]): Promise<CommandResult> =>
      call('inbound', 'resend', id, ...address, '--workspace', workspaceId)
    await assert.isRejected(resend(), /less than 10 minutes ago/)
    await assert.isRejected(resend('eve@x.example'), /address is not in forward_to of this route/)
    await ctx.db.query('UPDATE forward_addresses SET mail_due_at = NULL')
    assert.deepInclude(await resend(), { code: 0, out: 'The link is being sent to anna@outside.example.\n' })
    const { rows } = await ctx.db.query('SELECT FROM forward_addresses WHERE mail_due_at IS NOT NULL')
    assert.lengthOf(rows, 1)
  })

  it('show, set and reset the branding', async () => {
    const logo = join(folder, 'logo.gif')
    writeFileSync(logo, Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'))
    const changed = await callJson(
      'branding',
      'set',
      '--accent-color',
      '#7a1f3d',
      '--texts',
      '{"en": {"subscribe.button": "Join"}}',
    )
    assert.deepInclude(changed, { accent_color: '#7a1f3d', texts: { en: { 'subscribe.button': 'Join' } } })
    assert.match(String((await callJson('branding', 'logo', logo))['logo_url']), /\/v\/logos\//)
    await assert.isRejected(callJson('branding', 'set', '--accent-color', '#eeeeee'), /contrast/)
    await assert.isRejected(callJson('branding', 'set'), /nothing to change/)
    assert.deepInclude(await callJson('branding', 'reset'), { accent_color: null, texts: {}, logo_url: null })
    const { out } = await call('branding', 'show', '--workspace', workspaceId)
    assert.match(out, /default_language +en/)
    assert.notMatch(out, /accent_color|catalogue/)
  })

  it('need a workspace if there are several', async () => {
    await assert.isRejected(call('template', 'list'), /Several workspaces exist.*--workspace/)
    await assert.isRejected(call('template', 'list', '--workspace', 'nobody'), /No workspace "nobody"/)
  })

  it('validate as the API does, and keep workspaces apart', async () => {
    const { id } = await callJson('audience', 'create', '--name', 'News')
    const foreign = call('audience', 'show', String(id), '--workspace', otherId)
    await assert.isRejected(foreign, /There is no such audience/)
    const invalid = call('contact', 'add', 'not an address@', '--audience', String(id), '--workspace', workspaceId)
    await assert.isRejected(invalid, /^email /)
    const removed = await callJson('audience', 'remove', String(id))
    assert.deepEqual(removed, { id, removed: true })
  })

  it('save, check, preview and remove a template', async () => {
    const body = join(folder, 'body.html')
    const made = await callJson(
      'template',
      'save',
      '--name',
      'Hi',
      '--subject',
      'Hi {{firstName}}',
      '--body-file',
      body,
    )
    const again = await call(
      'template',
      'save',
      '--id',
      idOf(made),
      '--name',
      'Hi',
      '--subject',
      'Hello',
      '--body-file',
      body,
      '--workspace',
      workspaceId,
    )
    assert.match(again.out, /^Version 2 of Hi is saved: /)
    const preview = await callJson('template', 'preview', idOf(made), '--data', '{"firstName": "Anna"}')
    assert.match(String(preview['html']), /Hello Anna/)
    assert.deepEqual(Object.keys(await callJson('template', 'check', idOf(made))).includes('findings'), true)
    assert.match((await call('template', 'list', '--workspace', workspaceId)).out, /VERSION.*\n.* 2 .*Hi$/m)
    await callJson('template', 'remove', idOf(made))
    assert.strictEqual((await call('template', 'list', '--workspace', workspaceId)).out, 'No templates.\n')
  })

  it('manage contacts and their import', async () => {
    const audience = idOf(await callJson('audience', 'create', '--name', 'News'))
    await callJson('contact', 'add', 'anna@x.example', '--audience', audience, '--attributes', '{"plan": "pro"}')
    await callJson('contact', 'update', 'anna@x.example', '--first-name', 'Anna')
    assert.match((await call('contact', 'list', '--audience', audience, '--workspace', workspaceId)).out, /Anna/)
    const shown = await call('contact', 'show', 'anna@x.example', '--workspace', workspaceId)
    assert.match(shown.out, /^first_name +Anna$/m)
    const file = join(folder, 'list.csv')
    const stored = await call('contact', 'import', file, '--audience', audience, '--workspace', workspaceId)
    assert.match(stored.out, /^Import .* is stored\./)
    const { imports } = (await callJson('contact', 'imports')) as { imports: Json[] }
    assert.strictEqual(imports.length, 1)
    await callJson('contact', 'cancel', idOf(imports[0] ?? {}))
    const csv = await call('contact', 'export', '--audience', audience, '--workspace', workspaceId)
    assert.match(csv.out, /anna@x\.example/)
    await callJson('contact', 'remove', 'anna@x.example')
  })

  it('create a campaign, and say why it cannot start', async () => {
    const audience = idOf(await callJson('audience', 'create', '--name', 'News'))
    const body = join(folder, 'body.html')
    const fields = ['--audience', audience, '--from', 'News <news@x.example>', '--subject', 'Hi', '--body-file', body]
    const id = idOf(await callJson('campaign', 'create', '--name', 'May', ...fields))
    const start = call('campaign', 'start', id, '--workspace', workspaceId)
    await assert.isRejected(start, /The campaign cannot be sent: /)
    assert.match(
      (await call('campaign', 'preview', id, '--workspace', workspaceId)).out,
      /^0 recipients at 0 receivers/,
    )
    assert.match((await call('campaign', 'list', '--workspace', workspaceId)).out, /DRAFT/)
    assert.match((await call('campaign', 'remove', id, '--workspace', workspaceId)).out, /is removed/)
  })

  it('register a webhook, disable and remove it', async () => {
    const made = await callJson('webhook', 'create', 'https://hooks.example/', '--events', 'email.bounced')
    assert.match(String(made['secret']), /^whsec_/)
    assert.strictEqual((await callJson('webhook', 'update', idOf(made), '--disable'))['is_active'], false)
    assert.match((await call('webhook', 'list', '--workspace', workspaceId)).out, /disabled/)
    await callJson('webhook', 'remove', idOf(made))
  })

  it('manage suppressions, and record who changed them', async () => {
    await callJson('suppression', 'add', 'rob@x.example', '--reason', 'asked')
    const imported = await callJson('suppression', 'import', join(folder, 'list.csv'))
    assert.deepEqual([imported['added'], imported['invalid']], [1, 1])
    const csv = (await call('suppression', 'export', '--workspace', workspaceId)).out
    assert.match(csv, /old@x\.example.*\n?/)
    await callJson('suppression', 'remove', 'rob@x.example')
    const { rows } = await ctx.db.query<{ action: string; change: string }>(
      `SELECT action, change FROM audit_log WHERE actor_kind = 'cli' AND object = 'rob@x.example' ORDER BY id`,
    )
    assert.deepEqual(rows, [
      { action: 'suppression add', change: 'create' },
      { action: 'suppression remove', change: 'delete' },
    ])
  })

  it('remove a domain, and delete a workspace with its queued mail', async () => {
    const added = await callJson('domain', 'add', 'gone.example')
    assert.match((await call('domain', 'remove', 'gone.example')).out, /^gone\.example is removed\./)
    await callJson('domain', 'add', 'shop.example')
    await createAcceptor(ctx).accept(submissionOf(workspaceId))
    await createAcceptor(ctx).accept(submissionOf(otherId))
    assert.strictEqual((await call('workspace', 'delete', workspaceId)).code, 2)
    const { code, out } = await call('workspace', 'delete', workspaceId, '--yes', '--json')
    assert.deepEqual([code, (JSON.parse(out) as Json)['dropped']], [0, 1])
    const conditions = {
      workspaces: 'id = $1',
      contacts: 'workspace_id = $1',
      memberships: 'workspace_id = $1',
      suppressions: 'workspace_id = $1',
      suspensions: 'subject = $1::uuid::text',
      recipients: `workspace_id = $1 AND state = 'queued'`,
    }
    for (const [table, condition] of Object.entries(conditions)) {
      const left = await ctx.db.query(`SELECT FROM ${table} WHERE ${condition}`, [workspaceId])
      assert.strictEqual(left.rows.length, 0, table)
    }
    const { rows } = await ctx.db.query(`SELECT FROM recipients WHERE workspace_id = $1 AND state = 'queued'`, [
      otherId,
    ])
    assert.strictEqual(rows.length, 1, 'mail of another workspace is not dropped')
    const late = { workspaceId, address: 'late@x.example', kind: 'hard_bounce', reason: null } as const
    assert.deepEqual((await suppress(ctx.db, [late], new Date())).added, 0, 'a late bounce suppresses nothing')
    assert.isString(added['id'])
  })
})
