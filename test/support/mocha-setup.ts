/** What every test file is run with. A property that fails says why, and not only for what. */
import { configureGlobal, readConfigureGlobal } from 'fast-check'

configureGlobal({ ...readConfigureGlobal(), includeErrorInReport: true })
