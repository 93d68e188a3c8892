/**
 * The catalogue of texts, in English. One file for each part of the dashboard; the German one has the same shape, which
 * the compiler checks. A text with a value in it is a function.
 */
import { ENGLISH_UI_TEXTS as ui } from '#dashboard/src/ui/ui-text-values.ts'
import { branding } from './branding.ts'
import { campaigns } from './campaigns.ts'
import { automations } from './automations.ts'
import { audiences } from './audiences.ts'
import { contacts } from './contacts.ts'
import { domains } from './domains.ts'
import { imports } from './imports.ts'
import { mailView } from './mail-view.ts'
import { messages } from './messages.ts'
import { inbox } from './inbox.ts'
import { received } from './received.ts'
import { segments } from './segments.ts'
import { server } from './server.ts'
import { session } from './session.ts'
import { secrets } from './secrets.ts'
import { keys } from './keys.ts'
import { webhooks } from './webhooks.ts'
import { smtp } from './smtp.ts'
import { accounts } from './accounts.ts'
import { start } from './start.ts'
import { overview } from './overview.ts'
import { administration } from './administration.ts'
import { operator } from './operator.ts'
import { shell } from './shell.ts'
import { people } from './people.ts'
import { templates } from './templates.ts'
import { suppressionReviews } from './suppression-reviews.ts'
import { suppressions } from './suppressions.ts'

export const en = {
  automations,
  branding,
  overview,
  received,
  people,
  start,
  inbox,
  campaigns,
  messages,
  mailView,
  domains,
  server,
  session,
  shell,
  templates,
  ui,
  secrets,
  keys,
  webhooks,
  smtp,
  accounts,
  administration,
  operator,
  audiences,
  contacts,
  imports,
  segments,
  suppressionReviews,
  suppressions,
}

export type Texts = typeof en
