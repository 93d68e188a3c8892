import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import { storeCapturedMail, type CapturedMail } from '#src/sandbox/inbox.ts'
import { sql } from '#src/stores/sql.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')
const exec = promisify(execFile)

interface End {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

describe('mailstead inbox', () => {
  let database: OpenDatabase
  let db: Db
  let dataDir: string
  const messageId = newId()
  const mail: CapturedMail = {
    mailFrom: 'b-abc@bounces.test',
    headerFrom: '"Ann" <ann@sender.example>',
    subject: 'Gr\u00fc\u00dfe',
    messageId,
    tls: 'TLSv1.3 TLS_AES_256_GCM_SHA384',
    dkim: [
      { domain: 'sender.example', selector: 's1', algorithm: 'rsa-sha256', result: 'pass', comment: null },
      {
        domain: 'sender.example',
        selector: 's2',
        algorithm: 'ed25519-sha256',
        result: 'fail',
        comment: 'bad signature',
      },
    ],
    raw: Buffer.from(
      'From: Ann <ann@sender.example>\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n' +
        'Content-Type: text/plain; charset=utf-8\r\n\r\nHello \u001b[31mBob\u001b[0m\r\n',
    ),
  }

  /** Runs the real command in its own process. */
  async function inbox(
    args: readonly string[],
    env: Readonly<Record<string, string>> = { DATABASE_URL: database.url },
  ): Promise<End> {
    try {
      const { stdout, stderr } = await exec(process.execPath, [PROGRAM, 'inbox', ...args], {
        env: { PATH: process.env['PATH'], DATA_DIR: dataDir, ...env },
      })
      return { code: 0, stdout, stderr }
    } catch (error) {
      const { code, stdout, stderr } = error as End
      return { code, stdout, stderr }
    }
  }

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'mailstead-inbox-'))
    database = await openDatabase()
    db = database.db
  })
  after(async () => {
    await database.close()
    rmSync(dataDir, { recursive: true })
  })

  it('says that the inbox is empty', async () => {
    assert.deepEqual(await inbox([]), { code: 0, stdout: 'The sandbox has received nothing yet.\n', stderr: '' })
    assert.deepEqual(await inbox(['--json']), { code: 0, stdout: '[]\n', stderr: '' })
    assert.deepEqual(await inbox(['--last']), {
      code: 1,
      stdout: '',
      stderr: 'The sandbox has received nothing yet. Send a message first: mailstead demo\n',
    })
  })

  describe('with mail', () => {
    let id: string
    before(async () => {
      await storeCapturedMail(
        db,
        {
          ...mail,
          headerFrom: null,
          subject: null,
          tls: null,
          dkim: [],
          messageId: null,
          raw: Buffer.from('no header'),
        },
        ['early@a.test'],
        new Date('2026-01-02T03:04:05Z'),
      )
      const [stored = ''] = await storeCapturedMail(db, mail, ['bob@a.test'], new Date('2026-01-02T03:05:00Z'))
      id = hexOf(stored)
      const event = sql`
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
        VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8)
      `
      await db.query(event, [
        newId(),
        newId(),
        'email.delivered',
        messageId,
        2,
        'bob@a.test',
        { code: 250 },
        new Date('2026-01-02T03:05:01Z'),
      ])
      await db.query(event, [
        newId(),
        newId(),
        'email.queued',
        messageId,
        1,
        'bob@a.test',
        null,
        new Date('2026-01-02T03:04:59Z'),
      ])
    })

    it('lists it, newest first', async () => {
      const { code, stdout } = await inbox([])
      assert.strictEqual(code, 0)
      assert.deepEqual(
        stdout
          .trimEnd()
          .split('\n')
          .map((line) => line.split(/ {2,}/)),
        [
          ['ID', 'RECEIVED', 'FROM', 'TO', 'SUBJECT', 'TLS', 'DKIM'],
          [
            id.slice(-8),
            '2026-01-02 03:05:00',
            '"Ann" <ann@sender.example>',
            'bob@a.test',
            'Gr\u00fc\u00dfe',
            'TLSv1.3',
            'pass (rsa), fail (ed25519)',
          ],
          [
            stdout.trimEnd().split('\n')[2]?.slice(0, 8),
            '2026-01-02 03:04:05',
            'b-abc@bounces.test',
            'early@a.test',
            'no',
            'none',
          ],
        ],
      )
    })

    it('lists at most --limit messages, as JSON too', async () => {
      const { stdout } = await inbox(['--json', '--limit', '1'])
      const listed = JSON.parse(stdout) as Record<string, unknown>[]
      assert.deepEqual(listed, [
        {
          id,
          received_at: '2026-01-02T03:05:00.000Z',
          mail_from: 'b-abc@bounces.test',
          rcpt_to: 'bob@a.test',
          from: '"Ann" <ann@sender.example>',
          subject: 'Gr\u00fc\u00dfe',
          tls: 'TLSv1.3 TLS_AES_256_GCM_SHA384',
          dkim: mail.dkim,
          email_id: `em_${hexOf(messageId)}`,
        },
      ])
    })

    it('shows one message: authentication results, timeline, headers, text without terminal escapes', async () => {
      const { code, stdout } = await inbox(['--last'])
      assert.strictEqual(code, 0)
      assert.strictEqual(
        stdout,
        `Mail ${id}, received 2026-01-02T03:05:00.000Z
Envelope  b-abc@bounces.test -> bob@a.test
TLS       TLSv1.3 TLS_AES_256_GCM_SHA384
Message   em_${hexOf(messageId)}

DKIM
  pass      d=sender.example s=s1 a=rsa-sha256
  fail      d=sender.example s=s2 a=ed25519-sha256 (bad signature)

Events
    1  2026-01-02T03:04:59.000Z  email.queued     bob@a.test
    2  2026-01-02T03:05:01.000Z  email.delivered  bob@a.test  {"code":250}

Headers
  From: Ann <ann@sender.example>
  Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=
  Content-Type: text/plain; charset=utf-8

Text
  Hello [31mBob[0m
`,
      )
    })

    it('finds a message by each of its ids', async () => {
      const names = [
        id,
        id.slice(-8),
        id.toUpperCase(),
        `em_${hexOf(messageId)}`,
        `msg_1767323100000_${hexOf(messageId)}`,
        messageId,
      ]
      for (const name of names) {
        const { code, stdout } = await inbox(['--json', name])
        assert.strictEqual(code, 0, name)
        const shown = JSON.parse(stdout) as { id: string; text: string; events: { type: string }[] }
        assert.strictEqual(shown.id, id, name)
        assert.deepEqual(
          shown.events.map(({ type }) => type),
          ['email.queued', 'email.delivered'],
        )
      }
    })

    it('shows a message that Mailstead did not send and that has no header', async () => {
      const { stdout } = await inbox(['--json', '--limit', '2'])
      const early = (JSON.parse(stdout) as { id: string }[])[1]?.id ?? ''
      const page = await inbox([early])
      assert.match(page.stdout, /not sent by this system[^]*no signature[^]*Events\n {2}none/)
    })
  })

  const WRONG: readonly (readonly [args: readonly string[], code: number, stderr: RegExp])[] = [
    [['--limit', '0'], 2, /--limit must be a number/],
    [['--limit', 'many'], 2, /--limit must be a number/],
    [['--frobnicate'], 2, /frobnicate/],
    [['a', 'b'], 2, /one mail at a time/],
    [['--last', 'abcd'], 2, /one mail at a time/],
    [['00000000'], 1, /has no mail "00000000"/],
    [['%'], 1, /has no mail "%"/],
    [['em_0'], 1, /has no mail/],
  ]
  for (const [args, code, stderr] of WRONG) {
    it(`${args.join(' ')}: exit code ${code}`, async () => {
      const end = await inbox(args)
      assert.strictEqual(end.code, code)
      assert.match(end.stderr, stderr)
      assert.strictEqual(end.stdout, '')
    })
  }

  it('explains that nothing runs, or that the database is away', async () => {
    const none = await inbox([], {})
    assert.strictEqual(none.code, 1)
    assert.match(none.stderr, /Mailstead is not running with the data in/)
    const away = await inbox([], { DATABASE_URL: 'postgres://x@localhost/x?host=/nonexistent' })
    assert.strictEqual(away.code, 1)
    assert.match(away.stderr, /^mailstead: The database cannot be reached \(/)
  })
})
