"""Closed word classes of the main languages, written by hand: small words that turn, bound or colour a statement."""

from __future__ import annotations

from typing import Final


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


FUNCTION: Final[dict[str, frozenset[str]]] = {
    "en": words(
        "a an the this that these those some any such same own s and or but nor so yet if then than as of at by in on to up out off over under for with from into onto"
        " about after before between during through against within without upon per via while because since until till when whenever where which who whom whose what why how"
        " i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours ourselves they them their theirs themselves"
        " one ones each other another both either there here am is are was were be been being do does did have has had having will would shall should can"
        " could may might must ought need not no never none very really quite just also too only even still already now again most least much many few"
        " all every everyone everything somebody someone something anybody anyone anything etc oh please yes ok okay let lets"
    ),
    "de": words(
        "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird werden wurde wurden hat haben hatte sein bin bist im in am an auf"
        " aus bei mit nach von vom zu zum zur für über unter vor zwischen durch gegen ohne um als wie wenn dass daß weil da ob er sie es ich du wir ihr mein meine"
        " seine seinen seiner ihre ihren ihrer unser unsere man sich auch noch nur schon sehr so dann dort hier nicht kein keine keinen keiner nie kann können muss müssen soll sollen darf dürfen"
    ),
    "es": words(
        "el la los las un una unos unas y o pero es son era eran fue ser está están estaba ha han había de del al a en con por para sin sobre entre desde hasta"
        " como que si porque cuando donde su sus mi mis tu tus se lo le les me te nos muy más también ya no ni nunca este esta estos estas ese esa"
    ),
    "fr": words(
        "le la les l un une des du de d et ou mais est sont était étaient être a ont avait au aux à en dans sur sous avec par pour sans entre depuis"
        " comme que qu si parce quand où son sa ses mon ma mes ton ta tes leur leurs se s il elle ils elles on je tu nous vous ce cet cette ces c n ne pas plus très"
        " aussi déjà qui y"
    ),
    "it": words(
        "il lo la i gli le un uno una e ed o ma è sono era erano essere ha hanno aveva di del dello della dei degli delle a al allo alla ai agli alle da dal dalla in nel"
        " nella nei con su sul sulla per tra fra come che se perché quando dove suo sua suoi sue mio mia si lo gli ne ci non più anche già molto"
    ),
    "pt": words(
        "o a os as um uma uns umas e ou mas é são era eram foi ser está estão há tem de do da dos das em no na nos nas ao aos à às com por pelo pela para sem"
        " sobre entre como que se porque quando onde seu sua seus suas meu minha não também já muito mais"
    ),
    "nl": words(
        "de het een en of maar is zijn was waren wordt worden heeft hebben had in op aan uit bij met naar van voor over onder tussen door tegen zonder om als dat omdat"
        " hij zij ze het ik jij wij mijn zijn haar ons onze niet geen ook nog al zeer er"
    ),
    "pl": words("i a w z na do od po za o u się jest są był była było być nie to ten ta te że jak ale lub oraz dla przez przy jego jej ich"),
    "tr": words("ve veya ama bir bu şu o da de mi mı için ile gibi çok daha en ki"),
    "ru": words(
        "и в во на с со к ко от до из у о об по за для при без над под между через а но или что как если когда где чтобы это этот эта эти тот та те он она оно они"
        " его её ее их мы вы я ты свой свою своей не ни же бы ли был была было были есть будет уже ещё еще также"
    ),
    "ar": words("في من إلى على عن مع و أو ثم أن إن هذا هذه ذلك تلك هو هي هم التي الذي ما لا لم لن ليس قد كان كانت"),
    "he": words("של את על אל עם או כי זה זאת הוא היא הם לא אין גם אבל יש היה הייתה"),
    "hi": words("का की के को से में पर और या है हैं था थी थे यह वह ये वे ने नहीं भी तो ही कि एक"),
}  # fmt: skip

VOTES: Final[dict[str, frozenset[str]]] = {
    language: FUNCTION[language] for language in ("en", "de", "es", "fr", "it", "pt", "nl", "pl", "tr")
}
"""Small words that speak for a language of the Latin script, those that it shares with others among them: the one with most of them wins."""

LIGHT: Final = words(
    "make get take give go come put use thing stuff way kind sort type bit lot order certain various several different particular general include provide allow enable help"
    " ensure note currently usually often generally typically simply easily actually basically really both well mean say tell find keep seem become happen want need try"
    " based according due regarding related relating involve specific specifically following possible available necessary such person people indicate refer serve act require"
    " contain exist ability capability obtain perform whereas otherwise furthermore moreover additionally however therefore thus hence afterwards subsequently too let begin start"
    " offer employ utilize facilitate consist comprise encompass accompany dress clothe clad locate situate colour hue"
    " state mention describe specify appear remain present do purpose aim case fact part instance example respect manner fashion own show look able group piece pair bunch amount quantity body"
)  # fmt: skip
"""English words that seldom carry the content: rewording brings them in and takes them out. Base forms."""

RELATIONS: Final = words(
    "more less fewer before after above below under over from to into onto than until since between against without within inside outside for by with on off in out up down during behind"
    " beside near toward towards vor nach unter über von bis seit gegen ohne antes después desde hasta avant après depuis jusqu sans prima dopo"
    " до после от без перед"
)  # fmt: skip

NEGATORS: Final[dict[str, frozenset[str]]] = {
    "any": words(
        "nicht nichts kein keine keinen keinem keiner keines keinerlei niemand niemals nirgends nunca jamás nadie ningún ninguna ninguno tampoco jamais aucun aucune rien personne"
        " nessun nessuno nessuna niente mai não nenhum nenhuma ninguém niet geen niemand nooit nergens nigdy żaden żadna żadnych değil yok hiç не нет ни никогда никто ничего нельзя"
        " никакой никаких никого لا لم لن ليس ليست ليسوا غير بدون לא אין בלי अल नहीं नही मत"
    ),
    "en": words("not no never cannot none nobody nothing nowhere neither nor without n't nt"),
    "de": words("nie weder"),
    "es": words("no sin nada ni"),
    "fr": words("ne n pas sans ni"),
    "it": words("non no senza né"),
    "pt": words("sem nada nem nunca"),
    "nl": words("nee zonder"),
    "pl": words("nie bez brak"),
    "tr": words("yoktur değildir"),
    "ru": words("без нету"),
    "ar": words("ما بلا دون"),
    "he": words("איננו אינו אינה ללא"),
    "hi": words("ना बिना"),
    "ko": words("안 못 없다 없습니다 없어요 없는 않다 않습니다 않아요 않는 않고 못합니다 아닙니다 아니다"),
}
NEGATIVE_VERBS: Final = words(
    "stop stops stopped cease ceases ceased quit quits lack lacks lacked lacking fail fails failed hardly barely scarcely rarely seldom"
)
"""Words that deny what follows them as a negator does."""

NEGATIVE_ADVERBS: Final = words("hardly barely scarcely rarely seldom")

QUANTIFIERS: Final[dict[str, str]] = {
    "all": "all", "every": "all", "each": "all", "everyone": "all", "everything": "all", "everybody": "all", "always": "always", "entire": "all", "whole": "all",
    "most": "most", "mostly": "most", "majority": "most", "some": "some", "several": "some", "many": "many", "few": "few", "half": "half", "both": "both",
    "only": "only", "solely": "only", "exclusively": "only", "merely": "only", "alone": "only", "lone": "only", "except": "except", "sometimes": "sometimes", "occasionally": "sometimes",
    "often": "often", "frequently": "often", "usually": "usually", "nearly": "nearly", "almost": "nearly",
    "alle": "all", "jeder": "all", "jede": "all", "jedes": "all", "einige": "some", "manche": "some", "nur": "only", "meisten": "most", "immer": "always",
    "todos": "all", "todas": "all", "cada": "all", "algunos": "some", "algunas": "some", "solo": "only", "sólo": "only", "siempre": "always",
    "tous": "all", "toutes": "all", "chaque": "all", "quelques": "some", "seulement": "only", "toujours": "always", "certains": "some",
    "tutti": "all", "tutte": "all", "ogni": "all", "alcuni": "some", "soltanto": "only", "solamente": "only", "sempre": "always",
    "alleen": "only", "elke": "all", "sommige": "some", "все": "all", "каждый": "all", "некоторые": "some", "только": "only", "всегда": "always",
    "wszyscy": "all", "wszystkie": "all", "każdy": "all", "niektóre": "some", "tylko": "only", "sadece": "only", "bazı": "some", "bütün": "all",
    "كل": "all", "بعض": "some", "فقط": "only", "כל": "all", "רק": "only", "सभी": "all", "कुछ": "some", "केवल": "only",
}  # fmt: skip
HARD_QUANTIFIERS: Final = words(
    "all most some only except few half both at_least at_most up_to more_than less_than about sometimes nearly"
)

MODALS: Final[dict[str, str]] = {
    "need": "need", "needs": "need", "must": "must", "shall": "must", "should": "should", "ought": "should", "may": "may", "might": "might", "perhaps": "might", "maybe": "might", "possibly": "might",
    "probably": "probable", "likely": "probable", "plan": "plan", "plans": "plan", "planned": "plan", "planning": "plan", "intend": "plan", "intends": "plan",
    "will": "future", "could": "could", "would": "would", "can": "can", "considering": "might", "thinking": "might",
    "muss": "must", "müssen": "must", "soll": "should", "sollen": "should", "sollte": "should", "darf": "may", "dürfen": "may", "vielleicht": "might", "wird": "future", "plant": "plan",
    "debe": "must", "deben": "must", "puede": "can", "quizás": "might", "quizá": "might", "doit": "must", "doivent": "must", "peut": "can", "peut-être": "might",
    "deve": "must", "devono": "must", "può": "can", "forse": "might", "должен": "must", "должна": "must", "должны": "must", "может": "may", "возможно": "might",
}  # fmt: skip

CONDITIONALS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "if": "if",
        "whether": "if",
        "assuming": "if",
        "unless": "unless",
        "when": "when",
        "whenever": "when",
        "once": "when",
    },
    "de": {"wenn": "if", "falls": "if", "sofern": "if"},
    "es": {"si": "if"},
    "fr": {"si": "if"},
    "it": {"se": "if"},
    "pt": {"se": "if"},
    "nl": {"als": "if", "indien": "if"},
    "ru": {"если": "if"},
    "pl": {"jeśli": "if"},
    "tr": {"eğer": "if"},
}
"""Words that open a condition, by language."""
QUESTION_WORDS: Final = words(
    "who what when where why how which does do did is are can could will would should has have was were"
)
PAST_BE: Final = words("was were had did")
PRESENT_BE: Final = words("is are am has have does do 's 're")

ANTONYM_PAIRS: Final = (
    "accept reject; accept refuse; accept decline; add remove; add subtract; admit deny; advance retreat; agree disagree; alive dead; allow forbid; allow prohibit; allow prevent;"
    " allow block; allow deny; always never; always sometimes; ancient modern; appear disappear; approve reject; approve deny; arrive depart; arrive leave; ascend descend; asleep awake;"
    " attach detach; attack defend; available unavailable; awake sleeping; backward forward; bad good; begin end; begin finish; below above; best worst; better worse; big small;"
    " big little; bitter sweet; black white; blunt sharp; bottom top; brave cowardly; break fix; break repair; bright dark; bright dim; broad narrow; broken fixed; broken working;"
    " broken intact; build destroy; build demolish; busy idle; busy free; buy sell; calm agitated; cancel confirm; cheap expensive; cheap costly; clean dirty; clear cloudy; close open; closed open;"
    " close far; cold hot; cold warm; combine separate; come go; complete incomplete; connect disconnect; continue stop; correct incorrect; correct wrong; create destroy; create delete; cruel kind;"
    " cry laugh; daily weekly; daily monthly; weekly monthly; monthly yearly; danger safety; dangerous safe;  deep shallow; decrease increase; defeat victory; demand supply; deny confirm;"
    " dense sparse; die live; different same; difficult easy; dirty clean; disable enable; disabled enabled; domestic international; down up; downstairs upstairs; drop lift; drop raise; drunk sober; dry wet; dull interesting;"
    " dull sharp; early late; earlier later; east west; eastern western; empty full; enemy friend; enter exit; enter leave; even odd; evening morning; ever never; everybody nobody; everyone nobody; everything nothing;"
    " exclude include; excluding including; excluded included; expand shrink; expand contract; expand reduce; export import; external internal; fail succeed; fail pass; failure success; false true; famous unknown; far near; fast slow; faster slower; fat thin;"
    " fat slim;  few many; fewer more; find lose; finish start; first last; float sink; fold unfold; foolish wise; forget remember; former latter; forward backward; freeze melt; freeze thaw; fresh stale; fresh rotten;"
    " front back; front rear; full empty; full-time part-time; gain lose; generous stingy; gentle rough; give take; give receive; grow shrink; guest host; guilty innocent; happy sad; happy unhappy; hard easy; hard soft; harm help; hate love; hate like;"
    " hate enjoy; dislike enjoy; dislike like; dislike love; heavy light; hide show; high low; higher lower; hire fire; hit miss; hope despair; horizontal vertical; huge tiny; ill well; ill healthy; import export; inbound outbound; incoming outgoing;"
    " increase reduce; increase lower; indoor outdoor; indoors outdoors; input output; inner outer; inside outside; insert remove; install uninstall; install remove; join leave; joy sorrow; junior senior; kind cruel; large small; large little; large tiny; last first; late early; laugh cry; lazy hardworking; lead follow;"
    " left right; lend borrow; less more; light dark; like hate; little much; load unload; local remote; lock unlock; locked unlocked; long short; longer shorter; loose tight; lose win; loss profit; loss gain; loud quiet; love hate; low high; lower raise; lower upper;"
    " lucky unlucky; major minor;   mandatory optional; required optional; manual automatic; manually automatically; many few; married single; married divorced; maximum minimum; max min; merge split; merged closed; merged open; minority majority; miss catch; mobile stationary;"
    " more fewer; morning night; most least; move stay; narrow wide; natural artificial; near far; negative positive; never always; new old;  noisy quiet; noisy silent; none all; normal abnormal; normal unusual; north south; northern southern;"
    " nothing something; nobody somebody; nobody someone; now later; off on; offline online; often rarely; often seldom; old young; older younger; oldest youngest; open shut; open closed; oppose support; against for; optimist pessimist; original copy; over under; own rent; parent child; pass fail; passive active;"
    " patient impatient; pause resume; peace war; permanent temporary; permit forbid; permit prohibit; plural singular; plus minus; polite rude; poor rich; poor good; popular unpopular; positive negative; possible impossible; postpone advance; praise criticize; present absent; present past; primary secondary; private public;"
    " produce consume; pull push; question answer; quick slow; quickly slowly; raise lower; raw cooked;  ready unready; real fake; rear front; receive send; recent old; regular irregular; reject accept; reject approve; relax tense; release hold; remain leave; remember forget; rent own; resume suspend; resume stop; retire hire;"
    " rise fall; rising falling; rough smooth; rude polite; run stop; running stopped; sad cheerful; sad glad; safe unsafe; satisfied dissatisfied; save spend; save delete; save waste; secure insecure; sell buy; senior junior; sharp blunt; shout whisper; shout whispering; show hide; shrink grow; sick healthy; sick well; silent noisy; simple complex; simple complicated; single multiple; single double;"
    " sit stand; sitting standing; sleep wake; slow quick; smart stupid; smile frown; solid liquid; sooner later; start stop; start end; starting ending; steep flat; stop begin; stranger friend; strict lenient; strong weak; stronger weaker; sunny cloudy; sunny rainy; sunrise sunset; synchronous asynchronous; tall short; taller shorter; temporary permanent; thick thin; thin thick;"
    " throw catch; tie untie; tighten loosen; together apart; together alone; top bottom; town country; true false; trust distrust; trust mistrust; turn-on turn-off; ugly beautiful; ugly pretty;  up down; upload download; upstream downstream; upgrade downgrade; urban rural; usual unusual; vacant occupied; valid invalid; valuable worthless;"
    " vertical horizontal; victory defeat; visible invisible; visible hidden; voluntary mandatory; voluntary compulsory; wake sleep; war peace; warm cool; waste save; weak powerful; wealthy poor; weekday weekend; weekdays weekends; west east; wet dry; white black; whole partial; wide narrow; win lose; winner loser; winter summer; with without; work rest; working broken;"
    " working failed; worked failed; worse better; worst best; wrong right; young old; yes no; before after; earlier afterwards; ahead behind; employee employer; teacher student; buyer seller; lender borrower;  active inactive; active suspended; active cancelled; alive deceased; approved pending; approved rejected; assign unassign;"
    " attend skip; attend miss; awarded denied; backup restore; ban allow; banned allowed; begin conclude; bless curse; blocked unblocked; boost cut; boring exciting; boring interesting; bullish bearish; certain uncertain; cleared blocked; commit revert; compress decompress; encrypt decrypt; encrypted unencrypted; compulsory optional; connected disconnected; constant variable; credit debit; debtor creditor;"
    " deploy rollback; deprecated supported; dispatched received; done pending; done undone; done unfinished; drain fill; elect impeach; emigrate immigrate; employed unemployed; exact approximate; exempt liable; expired valid; explicit implicit; fictional real; finished unfinished; finite infinite; flexible rigid; free paid; full partial; gather scatter; global local; granted denied; granted revoked; hired fired;"
    " honest dishonest; in out; included omitted; inflate deflate; inferior superior; known unknown; landed launched; legal illegal; lit unlit; live recorded; logged-in logged-out;  mount unmount; mounted unmounted; muted unmuted; natural synthetic; obey disobey; occupied free; organic artificial; partly entirely; paid unpaid; pinned unpinned; promote demote; promoted demoted; public confidential;"
    " qualified unqualified; raise reduce; rational irrational; recovered ill; relevant irrelevant; replaced kept; resolved unresolved; resolved open; safe risky; shipped pending; signed unsigned; shut open; sold unsold; sold bought; stable unstable; started stopped; static dynamic; steady unsteady; sticky slippery; subscribe unsubscribe; surplus deficit; sweet sour; taken free; tame wild; thaw freeze; tighten relax;"
    " top-down bottom-up; transparent opaque; unanimous divided; united divided; upper lower; used unused; vegetarian carnivore; verified unverified; wanted unwanted; widen narrow; willing unwilling; wired wireless; within outside; zoom-in zoom-out;  fiction nonfiction;  enjoy despise; prefer avoid; into out; onto off; from into; from onto; from toward; from towards; until after; until before; front behind; ignore portray; follow avoid; staging production; development production; testing production; frontend backend; client server; primary replica; primary standby; leader follower;"
    " source target; source destination; sender receiver; sender recipient; producer consumer; beta stable; draft final; gross net; wholesale retail; arrival departure; entrance exit;"
    " supplier customer; vendor customer; seller buyer; landlord tenant; deposit withdrawal; income expense; revenue cost; asset liability; hardware software; morning afternoon;"
    " afternoon evening; breakfast lunch; lunch dinner; breakfast dinner; request response; ingress egress; uplink downlink; reader writer; publisher subscriber; pickup delivery;"
    " keep lose; survive perish; sure unsure; certain unsure; ordinary extraordinary; imprisoned freed; guarded unguarded; spring autumn; dawn dusk; adore detest; love detest; like detest"
)  # fmt: skip
OTHER_ANTONYM_PAIRS: Final = (
    "offen geschlossen; geöffnet geschlossen; offen zu; an aus; ein aus; vor nach; mit ohne; alt neu; gut schlecht; groß klein; hell dunkel; früh spät; liebt hasst; mag hasst; erlaubt verboten;"
    " aktiviert deaktiviert; abierto cerrado; abierta cerrada; antes después; con sin; encendido apagado; bueno malo; grande pequeño; permitido prohibido; encanta molesta; encanta odia; ama odia;"
    " ouvert fermé; ouverte fermée; avant après; avec sans; allumé éteint; bon mauvais; grand petit; autorisé interdit; aime déteste; adore déteste; aperto chiuso; aperta chiusa; prima dopo; acceso spento; buono cattivo;"
    " aberto fechado; aberta fechada; ligado desligado; open dicht; aan uit; voor na; открыт закрыт; открыта закрыта; открыто закрыто; до после; включён выключен; включен выключен; otwarty zamknięty; otwarte zamknięte;"
    " açık kapalı; önce sonra; مفتوح مغلق; يفتح يغلق; قبل بعد; פתוח סגור; לפני אחרי"
)  # fmt: skip
CJK_ANTONYMS: Final = ("开关", "大小", "多少", "高低", "前后", "前後", "上下", "左右", "内外", "早晚", "新旧", "冷热", "黑白", "男女", "有无", "有無", "来去", "买卖", "進退", "増減", "开闭", "開閉", "始終", "南北", "东西", "東西")  # fmt: skip

PRONOUNS: Final[dict[str, str]] = {
    **dict.fromkeys(["i", "me", "my", "mine", "myself", "ich", "mir", "mich", "mein", "meine", "yo", "mi", "mis", "je", "mon", "ma", "mes", "io", "mio", "mia", "eu", "meu", "minha", "ik", "mijn", "я", "мой", "моя", "мне", "меня"], "I"),
    **dict.fromkeys(["we", "us", "our", "ours", "ourselves", "wir", "uns", "unser", "unsere", "nosotros", "nuestro", "nuestra", "nous", "notre", "nos", "noi", "nostro", "nostra", "nós", "nosso", "nossa", "wij", "ons", "onze", "мы", "наш", "наша", "нас"], "we"),
    **dict.fromkeys(["you", "your", "yours", "yourself", "yourselves", "du", "dir", "dich", "dein", "deine", "tú", "tu", "tus", "vous", "votre", "vos", "jij", "jouw", "ты", "твой", "вы", "ваш"], "you"),
    **dict.fromkeys(["he", "him", "his", "himself", "er", "ihm", "ihn", "él", "il", "lui", "ele", "hij", "hem", "он", "его", "ему"], "he"),
    **dict.fromkeys(["she", "her", "hers", "herself", "ella", "elle", "lei", "ela", "она", "её", "ей"], "she"),
}  # fmt: skip
"""Who a pronoun speaks of. The plural third person stands for anybody and is left out, and so are forms with several readings."""

CONNECTIVES: Final = words("and or und oder y et ou e и или with")
"""Words that join the members of a list."""
WAS: Final = words("was were formerly previously former war waren era fue était был была были было")
IS: Final = words("is are am currently now ist sind es est è é")
BE: Final = words("be is are was were been being am wird werden wurde wurden ist est sont été es fue son")
"""Forms before a participle."""
BOUNDS: Final = {
    "over": "more_than",
    "above": "more_than",
    "under": "less_than",
    "below": "less_than",
    "über": "more_than",
    "unter": "less_than",
}
"""What a preposition says before a number."""

REFERRING: Final = words("it its they them their this these he him his she her hers")
"""Pronouns for what was named before."""
TURNING: Final = words("than outside inside beyond against except despite")
"""Small words that turn what they stand before, so that they can not come or go unnoticed."""
RELATING: Final = {
    word: place
    for place, words in enumerate(
        (
            "before by ahead prior",
            "after following once past",
            "during while amid amidst throughout within",
            "until till to toward towards",
            "since from",
            "above over atop",
            "below under beneath underneath",
            "beside alongside",
        )
    )
    for word in words.split()
}
"""Prepositions by where they put one thing in time or place against another: within a number they say much the same, across numbers not."""
WEAKENING: Final = words(
    "face faces facing faced risk risks risking threatened attempt attempts attempted attempting try tries tried trying refuse refuses refused"
    " decline declines declined avoid avoids avoided avoiding prevent prevents prevented deny denies denied doubt doubts doubted claim claims claimed"
    " allege alleges alleged allegedly suspect suspects suspected pretend pretends pretended propose proposes proposed supposed supposedly reportedly"
    " expect expects expected consider considers considered nearly almost former ex future potential potentially possible possibly presumably"
    " threatening refusing declining preventing denying doubting claiming alleging suspecting pretending proposing expecting risking"
    " tentative tentatively provisional provisionally pending draft fake false so-called would-be aspiring low little poor weak minor minimal limited"
    " partial partially partly lack lacks lacking near unofficial unofficially planned"
)
"""English words that take back some of what they stand before: who drops one of them claims more."""
ASKING: Final = words(
    "ask asks asked asking check checks checked checking see sees know knows knew verify verifies verified verifying determine determines determined wonder wonders"
    " wondered test tests tested confirm confirms confirmed decide decides tell tells find finds found"
)
"""Verbs before an `if` that opens an indirect question, no condition."""
ATTRIBUTES: Final = words("size length width height depth weight age number total value duration diameter area volume")
"""What a value measures, said once more behind it."""
PURPOSES: Final = words("built made bred designed meant intended used")
"""Participles that a `for` says as well: a shed (built) for tools."""
WISHING: Final = words(
    "need needs needed want wants wanted order ordered orders request requests requested require requires required lack lacks lacked"
    " lost sold returned"
)
"""Verbs for what one has not got, not yet or not any more."""
ATTITUDES: Final = words(
    "hope hopes hoped hoping think thinks thought thinking believe believes believed believing fear fears feared assume assumes assumed"
    " guess guesses guessed wish wishes wished wonder wonders wondered doubt doubts doubted imagine imagines imagined suspect suspects"
    " suspected expect expects expected apparently supposedly allegedly reportedly"
)
"""Verbs and adverbs under which a statement is only thought, hoped or told."""
