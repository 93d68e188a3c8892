import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { readPerson } from './person-export.ts'

const HTML = `<p>Grüße 📬</p>${'<td style="padding:0">1</td>'.repeat(600)}`
const RAW = Buffer.from(`Subject: x\r\n\r\n${'A line of a mail.\r\n'.repeat(900)}`)

describe('the export of what is stored about a person', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('has bodies that are stored compressed, but not of confidential mail', async () => {
    const workspaceId = await ctx.newWorkspace()
    const acceptor = createAcceptor(ctx)
    for (const fields of [
      { html: HTML, text: 'Hello Ada' },
      { text: null, smtp: { raw: RAW, envelope: { from: 'a@sender.example' } } },
      { html: HTML, isConfidential: true as const },
      { html: '<p>short</p>', text: null },
    ])
      await acceptor.accept(submissionOf(workspaceId, fields))
    const found: unknown[] = []
    for await (const { kind, data } of readPerson(ctx.db, { workspaceId, email: 'ada@receiver.example' }))
      if (kind === 'message') found.push([data['html'], data['body_text'], data['raw_base64']])
    assert.deepEqual(found, [
      [HTML, 'Hello Ada', null],
      [null, null, RAW.toString('base64')],
      [null, null, null],
      ['<p>short</p>', null, null],
    ])
  })
})
