import { runDialog } from '#test/support/smtp-dialogs.ts'
import { OPENING_DIALOGS } from './open.test-data.ts'

describe('opening a session: dialogs', () => {
  for (const dialog of OPENING_DIALOGS) it(`${dialog.n}. ${dialog.title}`, () => runDialog(dialog))
})
