import { assert } from 'chai'
import { buildInvitationMail } from './invitation-mail.ts'

const SENDER = {
  workspaceId: 'w',
  workspaceName: 'Acme\r\nBcc: x@y.example <b>',
  domainId: 'd',
  domain: 'acme.example',
}
const LINK = 'https://mail.example/join/token'

describe('the mail of an invitation', () => {
  const mail = buildInvitationMail({ clock: { now: () => 1_800_000_000_000 } }, SENDER, {
    email: 'anna@people.example',
    role: 'developer',
    link: LINK,
    by: { name: '<script>', email: 'owner@acme.example' },
  })
  it('goes to the person, from the domain of the workspace, and is not tracked', () => {
    assert.deepEqual(mail.recipients, [{ address: 'anna@people.example', domain: 'people.example', kind: 'to' }])
    assert.equal(mail.from.email, 'no-reply@acme.example')
    assert.deepEqual([mail.trackOpens, mail.trackClicks, mail.tier], [false, false, 'instant'])
    assert.isTrue(mail.isConfidential)
  })
  it('has the link in both bodies, and names as text', () => {
    assert.include(mail.text ?? '', LINK)
    assert.include(mail.html ?? '', `href="${LINK}"`)
    assert.notInclude(mail.html ?? '', '<script>')
    assert.notMatch(`${mail.subject}${mail.from.name}`, /[\r\n]/)
  })
})
