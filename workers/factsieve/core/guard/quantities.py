"""Numbers, units and currencies in a normal form.

Factors are the SI definitions and the international yard and pound; data sizes use 1000 for kB, MB, GB and 1024 for KiB, MiB, GiB (IEC 80000-13).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Unit(NamedTuple):
    """What a unit measures and how many base units it is."""

    dimension: str
    factor: float


def _units(dimension: str, **factors: float) -> dict[str, Unit]:
    return {name.replace("_", " "): Unit(dimension, factor) for name, factor in factors.items()}


# Symbols whose case carries meaning: looked up as written, before the names.
_SYMBOLS: Final[dict[str, Unit]] = {
    **_units("length", nm=1e-9, µm=1e-6, mm=1e-3, cm=1e-2, dm=0.1, m=1.0, km=1e3, ft=0.3048, yd=0.9144, mi=1609.344),
    **_units("mass", mg=1e-6, g=1e-3, kg=1.0, lb=0.45359237, lbs=0.45359237, oz=0.028349523125),
    **_units(
        "time",
        ns=1e-9,
        µs=1e-6,
        us=1e-6,
        ms=1e-3,
        s=1.0,
        sec=1.0,
        secs=1.0,
        min=60.0,
        mins=60.0,
        h=3600.0,
        hr=3600.0,
        hrs=3600.0,
        d=86400.0,
    ),
    **_units(
        "data",
        B=8.0,
        kB=8e3,
        KB=8e3,
        MB=8e6,
        GB=8e9,
        TB=8e12,
        PB=8e15,
        KiB=8192.0,
        MiB=8.0 * 2**20,
        GiB=8.0 * 2**30,
        TiB=8.0 * 2**40,
    ),
    **_units("data", bit=1.0, kb=1e3, Kb=1e3, Mb=1e6, Gb=1e9, Tb=1e12, kbit=1e3, Mbit=1e6, Gbit=1e9),
    **_units("rate:data/time", kbps=1e3, Kbps=1e3, Mbps=1e6, Gbps=1e9, MBps=8e6, GBps=8e9),
    **_units("frequency", Hz=1.0, kHz=1e3, MHz=1e6, GHz=1e9),
    **_units("power", mW=1e-3, W=1.0, kW=1e3, MW=1e6, GW=1e9),
    **_units("energy", J=1.0, kJ=1e3, Wh=3600.0, kWh=3.6e6, MWh=3.6e9),
    **_units("kilocalorie", kcal=1.0),
    **_units("voltage", mV=1e-3, V=1.0, kV=1e3),
    **_units("current", mA=1e-3, A=1.0),
    **_units("pressure", Pa=1.0, hPa=100.0, kPa=1e3, MPa=1e6, bar=1e5, psi=6894.757),
    **_units("volume", ml=1e-6, mL=1e-6, cl=1e-5, dl=1e-4, l=1e-3, L=1e-3),
    **_units("area", ha=1e4),
    **_units("celsius", C=1.0),
    **_units("fahrenheit", F=1.0),
    **_units("kelvin", K=1.0),
    **_units("speed", kmh=1000 / 3600, kph=1000 / 3600, mph=1609.344 / 3600),
    **_units("resolution", dpi=1.0),
    **_units("sound", dB=1.0),
    **_units("pixel", px=1.0),
    "°C": Unit("celsius", 1.0),
    "°F": Unit("fahrenheit", 1.0),
    "°": Unit("degree", 1.0),
    "%": Unit("percent", 1.0),
    "‰": Unit("percent", 0.1),
    '"': Unit("length", 0.0254),
    "m^2": Unit("area", 1.0),
    "m2": Unit("area", 1.0),
    "sqm": Unit("area", 1.0),
    "km^2": Unit("area", 1e6),
    "m^3": Unit("volume", 1.0),
    "m3": Unit("volume", 1.0),
}


def _names() -> dict[str, Unit]:
    """Return the unit names of the main languages, in lower case, plural forms included."""
    rows: tuple[tuple[str, float, str], ...] = (
        ("length", 1e-3, "millimetre millimeter"), ("length", 1e-2, "centimetre centimeter zentimeter"), ("length", 1.0, "metre meter mètre metro"),
        ("length", 1e3, "kilometre kilometer kilomètre kilómetro"), ("length", 0.0254, "inch"), ("length", 0.3048, "foot"),
        ("length", 0.9144, "yard"), ("length", 1609.344, "mile"),
        ("mass", 1e-6, "milligram"), ("mass", 1e-3, "gram gramme gramm gramo"), ("mass", 1.0, "kilogram kilo kilogramm kilogramo"),
        ("mass", 0.45359237, "pound"), ("mass", 0.028349523125, "ounce"), ("mass", 1e3, "tonne"),
        ("time", 1e-9, "nanosecond"), ("time", 1e-6, "microsecond"), ("time", 1e-3, "millisecond millisekunde"),
        ("time", 1.0, "second sekunde segundo seconde secondo"), ("time", 60.0, "minute minuto"),
        ("time", 3600.0, "hour stunde hora heure ora"), ("time", 86400.0, "day tag día dia jour giorno"),
        ("time", 604800.0, "week woche semana semaine settimana"), ("time", 1209600.0, "fortnight"),
        ("month", 1.0, "month monat mes mois mese"), ("month", 3.0, "quarter"), ("month", 12.0, "year jahr año an anno"),
        ("month", 120.0, "decade"), ("data", 1.0, "bit"), ("data", 8.0, "byte"), ("data", 8e3, "kilobyte"), ("data", 8e6, "megabyte"),
        ("data", 8e9, "gigabyte gig"), ("data", 8e12, "terabyte"), ("data", 1e6, "megabit"), ("data", 1e9, "gigabit"),
        ("frequency", 1.0, "hertz"), ("frequency", 1e6, "megahertz"), ("frequency", 1e9, "gigahertz"),
        ("power", 1.0, "watt"), ("power", 1e3, "kilowatt"), ("power", 1e6, "megawatt"), ("voltage", 1.0, "volt"), ("current", 1.0, "amp ampere"),
        ("volume", 1e-3, "litre liter litro"), ("volume", 1e-6, "millilitre milliliter"), ("volume", 3.785411784e-3, "gallon"),
        ("celsius", 1.0, "celsius"), ("fahrenheit", 1.0, "fahrenheit"), ("kelvin", 1.0, "kelvin"), ("degree", 1.0, "degree grad grado degré"),
        ("percent", 1.0, "percent prozent pct"), ("area", 1e4, "hectare"), ("area", 4046.8564224, "acre"), ("pixel", 1.0, "pixel"),
        ("kilocalorie", 1.0, "calorie"), ("energy", 3.6e6, "kilowatt-hour"),
    )  # fmt: skip
    table: dict[str, Unit] = {}
    for dimension, factor, words in rows:
        for word in words.split():
            for form in (word, word + "s", word + "n", word + "en", word + "e"):
                table.setdefault(form, Unit(dimension, factor))
    table |= {
        "inches": Unit("length", 0.0254),
        "feet": Unit("length", 0.3048),
        "jours": Unit("time", 86400.0),
        "giorni": Unit("time", 86400.0),
    }
    table |= {
        "minuti": Unit("time", 60.0),
        "secondi": Unit("time", 1.0),
        "ore": Unit("time", 3600.0),
        "mesi": Unit("month", 1.0),
        "anni": Unit("month", 12.0),
    }
    table |= {
        "meses": Unit("month", 1.0),
        "semanas": Unit("time", 604800.0),
        "settimane": Unit("time", 604800.0),
        "секунд": Unit("time", 1.0),
    }
    table |= {
        "минут": Unit("time", 60.0),
        "часов": Unit("time", 3600.0),
        "часа": Unit("time", 3600.0),
        "дней": Unit("time", 86400.0),
        "кг": Unit("mass", 1.0),
    }
    table |= {
        "秒": Unit("time", 1.0),
        "分钟": Unit("time", 60.0),
        "分": Unit("time", 60.0),
        "小时": Unit("time", 3600.0),
        "時間": Unit("time", 3600.0),
    }
    table |= {"초": Unit("time", 1.0), "분": Unit("time", 60.0), "시간": Unit("time", 3600.0)}
    return table


_NAMES: Final = _names()

CURRENCIES: Final[dict[str, str]] = {
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "buck": "USD", "bucks": "USD",
    "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR",
    "£": "GBP", "gbp": "GBP", "quid": "GBP", "sterling": "GBP",
    "¥": "JPY", "jpy": "JPY", "yen": "JPY", "円": "JPY", "₹": "INR", "inr": "INR", "rupee": "INR", "rupees": "INR",
    "chf": "CHF", "franc": "CHF", "francs": "CHF", "franken": "CHF", "cny": "CNY", "rmb": "CNY", "yuan": "CNY", "元": "CNY",
    "₽": "RUB", "rub": "RUB", "rouble": "RUB", "roubles": "RUB", "ruble": "RUB", "rubles": "RUB", "рублей": "RUB", "рубля": "RUB",
    "₩": "KRW", "krw": "KRW", "won": "KRW", "원": "KRW", "pln": "PLN", "zł": "PLN", "zloty": "PLN", "sek": "SEK", "nok": "NOK", "dkk": "DKK",
    "krona": "SEK", "kronor": "SEK", "kroner": "NOK", "krone": "NOK", "try": "TRY", "₺": "TRY", "lira": "TRY", "cad": "CAD", "aud": "AUD",
    "btc": "BTC", "bitcoin": "BTC", "bitcoins": "BTC", "cent": "cent", "cents": "cent",
}  # fmt: skip

SCALES: Final[dict[str, float]] = {
    "k": 1e3, "thousand": 1e3, "tausend": 1e3, "mil": 1e3, "mille": 1e3, "тысяч": 1e3, "тысячи": 1e3, "mln": 1e6, "million": 1e6, "millions": 1e6,
    "mio": 1e6, "millionen": 1e6, "millones": 1e6, "m": 1e6, "mm": 1e6, "bn": 1e9, "billion": 1e9, "billions": 1e9, "milliarden": 1e9, "mrd": 1e9,
    "trillion": 1e12, "hundred": 1e2, "dozen": 12.0, "dozens": 12.0, "万": 1e4, "億": 1e8, "亿": 1e8,
}  # fmt: skip
SPELLED_SCALES: Final = frozenset(name for name in SCALES if len(name) > 2 or not name.isascii())


def _number_words() -> dict[str, dict[str, int]]:
    """Return, by language, how cardinal numbers are spelled."""
    spelled = {
        "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
        "de": "null - zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
        "es": "cero - dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
        "fr": "zéro - deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
        "it": "zero - due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici",
        "pt": "zero - dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove",
        "nl": "nul - twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien",
        "ru": "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
        "pl": "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
        "tr": "sıfır - iki üç dört beş altı yedi sekiz dokuz",
    }
    tens = {
        "en": "ten twenty thirty forty fifty sixty seventy eighty ninety",
        "de": "zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "es": "diez veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        "fr": "dix vingt trente quarante cinquante soixante",
        "it": "dieci venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
        "pt": "dez vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
        "nl": "tien twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    }
    table = {
        language: {word: value for value, word in enumerate(words.split()) if word != "-"}
        for language, words in spelled.items()
    }
    for language, words in tens.items():
        table[language] |= {word: 10 * value for value, word in enumerate(words.split(), start=1)}
    table["ru"] |= {"две": 2, "двух": 2, "трёх": 3, "трех": 3, "пяти": 5, "двадцать": 20, "тридцать": 30}
    table["pt"]["duas"] = 2
    return table


NUMBER_WORDS: Final = _number_words()
ORDINALS: Final[dict[str, int]] = {
    word: value
    for value, word in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"],
        start=1,
    )
} | {"twentieth": 20, "thirtieth": 30}  # fmt: skip
MULTIPLIERS: Final[dict[str, int]] = {"once": 1, "twice": 2, "thrice": 3}


def unit(text: str) -> Unit | None:
    """Return the unit that `text` names: a symbol as written, else a name in any case."""
    found = _SYMBOLS.get(text)
    if found is not None:
        return found
    lower = text.lower()
    found = _NAMES.get(lower)
    if found is None and len(lower) > 1:
        found = _SYMBOLS.get(lower)
    return found


def plain(value: float) -> str:
    """Return a number in its shortest form: 12 significant digits, no exponent for whole numbers."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"
